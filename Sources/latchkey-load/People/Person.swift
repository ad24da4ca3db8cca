/// Somebody whom the load acts as: an account, what opens it, and the session at hand.
final class Person {
  /// What is sensitive wants a login of the last five minutes by default.
  private static let loginMaxNanos: Int64 = 240_000_000_000

  /// Empty where the account has no password.
  var login: Login
  /// Once it is known.
  var accountID: String?
  var session: SessionFacts?
  /// When the session was opened by a credential.
  var signedInNanos: Int64 = 0
  /// A token of a provider, for the workloads that need one.
  var token: ProviderToken?
  var customToken = ""
  var pendingToken = ""
  /// When the custom or the pending token was made.
  var tokenNanos: Int64 = 0

  init(login: Login = Login(email: "", password: ""), token: ProviderToken? = nil) {
    self.login = login
    self.token = token
  }

  /// What opens the account again.
  var credential: Credential { customToken.isEmpty ? .password(login) : .customToken(customToken) }

  func signedIn(_ session: SessionFacts, atNanos nowNanos: Int64) {
    self.session = session
    signedInNanos = nowNanos
  }

  func hasRecentLogin(atNanos nowNanos: Int64) -> Bool {
    session != nil && nowNanos - signedInNanos < Person.loginMaxNanos
  }
}

/// The people of one workload.
///
/// Where a call changes something of theirs, each is with one iteration at a time, and all in turn: the server bounds
/// what it keeps for one account. Whoever was with an iteration that
/// failed is not given back: nobody knows in which state the account is, and one fault would be counted many times.
final class Pool {
  let isExclusive: Bool
  private(set) var people: [Person]

  init(_ people: [Person], isExclusive: Bool) {
    self.people = people
    self.isExclusive = isExclusive
  }

  /// Somebody at random, or whoever has rested longest; nil: everybody is busy or lost.
  func take(_ generator: inout SeededGenerator) -> Person? {
    guard !people.isEmpty else { return nil }
    return isExclusive ? people.removeFirst() : people[Int.random(in: 0..<people.count, using: &generator)]
  }

  func giveBack(_ person: Person) {
    if isExclusive { people.append(person) }
  }
}
