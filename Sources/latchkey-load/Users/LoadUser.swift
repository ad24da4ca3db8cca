internal import API

/// A simulated user: an account, its credentials and its current session.
final class LoadUser {
  /// The age at which a login is too old. Sensitive operations require one of the last five minutes by default.
  private static let loginMaxNanos: Int64 = 240_000_000_000

  /// The email address and password. The password is empty if the account has none.
  var login: PasswordCredential
  /// The account ID; nil if unknown.
  var accountID: String?
  private(set) var sessionID = ""
  private(set) var idToken = ""
  private(set) var refreshToken = ""
  /// The time of the last sign-in with a credential; nil if there was none.
  private(set) var signedInNanos: Int64?
  /// A provider's token, for workloads that need one.
  var token: ProviderTokenCredential
  var customToken = ""
  var pendingToken = ""
  /// The creation time of the pending token.
  var pendingTokenNanos: Int64 = 0

  init(login: PasswordCredential = .init(), token: ProviderTokenCredential = .init()) {
    self.login = login
    self.token = token
  }

  var isSignedIn: Bool { !idToken.isEmpty }

  /// The credential that signs in to the account.
  var credential: Credential { customToken.isEmpty ? .password(login) : .customToken(customToken) }

  /// Stores the new tokens of the session.
  func keep(_ session: Session) {
    (sessionID, idToken, refreshToken) = (session.sessionID, session.idToken, session.refreshToken)
  }

  func signedIn(_ session: Session, atNanos nowNanos: Int64) {
    keep(session)
    signedInNanos = nowNanos
  }

  func hasRecentLogin(atNanos nowNanos: Int64) -> Bool {
    signedInNanos.map { nowNanos - $0 < LoadUser.loginMaxNanos } ?? false
  }
}

/// The users of one workload.
///
/// In an exclusive pool, each user takes part in one iteration at a time, and all users take turns, because the server
/// limits what it stores for one account. A user does not return to the pool after a failed iteration. The state of the
/// account is unknown then, and one fault would count many times.
final class Pool {
  private let isExclusive: Bool
  private var users: ArraySlice<LoadUser>

  init(_ users: [LoadUser], isExclusive: Bool) {
    self.users = users[...]
    self.isExclusive = isExclusive
  }

  /// Takes a random user, or in an exclusive pool the longest idle one. Returns nil if no user is available.
  func take(_ generator: inout SeededGenerator) -> LoadUser? {
    isExclusive ? users.popFirst() : users.randomElement(using: &generator)
  }

  func giveBack(_ user: LoadUser) {
    if isExclusive { users.append(user) }
  }
}
