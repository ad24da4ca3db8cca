/// A simulated user: an account, its credentials and its current session.
final class LoadUser {
  /// The age at which a login is too old. Sensitive operations require one of the last five minutes by default.
  private static let loginMaxNanos: Int64 = 240_000_000_000

  /// The email address and password. The password is empty if the account has none.
  var login: Login
  /// The account ID; nil if unknown.
  var accountID: String?
  var session: SessionFacts?
  /// The time of the last sign-in with a credential.
  var signedInNanos: Int64 = 0
  /// A provider's token, for workloads that need one.
  var token: ProviderToken?
  var customToken = ""
  var pendingToken = ""
  /// The creation time of the custom token or pending token.
  var tokenNanos: Int64 = 0

  init(login: Login = Login(email: "", password: ""), token: ProviderToken? = nil) {
    self.login = login
    self.token = token
  }

  /// The credential that signs in to the account.
  var credential: Credential { customToken.isEmpty ? .password(login) : .customToken(customToken) }

  func signedIn(_ session: SessionFacts, atNanos nowNanos: Int64) {
    self.session = session
    signedInNanos = nowNanos
  }

  func hasRecentLogin(atNanos nowNanos: Int64) -> Bool {
    session != nil && nowNanos - signedInNanos < LoadUser.loginMaxNanos
  }
}

/// The users of one workload.
///
/// If the work changes its user, each user takes part in one iteration at a time, and all users take turns. The server
/// limits what it stores for one account. A user does not return to the pool after a failed iteration. The state of the
/// account is unknown then, and one fault would count many times.
final class Pool {
  let isExclusive: Bool
  private(set) var people: [LoadUser]

  init(_ people: [LoadUser], isExclusive: Bool) {
    self.people = people
    self.isExclusive = isExclusive
  }

  /// Takes a random user, or in an exclusive pool the longest idle one. Returns nil if no user is available.
  func take(_ generator: inout SeededGenerator) -> LoadUser? {
    guard !people.isEmpty else { return nil }
    return isExclusive ? people.removeFirst() : people[Int.random(in: 0..<people.count, using: &generator)]
  }

  func giveBack(_ user: LoadUser) {
    if isExclusive { people.append(user) }
  }
}
