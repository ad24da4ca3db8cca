internal import API
internal import Reactor

// Checks that several workloads make.

/// A response that contains a session if the call has succeeded.
protocol SessionResponse {
  var session: Session? { get }
}

extension FinishEnrollmentResponse: SessionResponse {}
extension MergeResponse: SessionResponse {}
extension RefreshResponse: SessionResponse {}
extension UnlinkResponse: SessionResponse {}
extension UpdateResponse: SessionResponse {}
extension WithdrawResponse: SessionResponse {}

extension CreateResponse: SessionResponse {
  var session: Session? { if case .session(let session)? = outcome { session } else { nil } }
}

extension FinishSecondFactorResponse: SessionResponse {
  var session: Session? { if case .session(let session)? = outcome { session } else { nil } }
}

extension LinkResponse: SessionResponse {
  var session: Session? { if case .session(let session)? = outcome { session } else { nil } }
}

extension ReauthenticateResponse: SessionResponse {
  var session: Session? { if case .session(let session)? = outcome { session } else { nil } }
}

extension SignInResponse: SessionResponse {
  var session: Session? { if case .session(let session)? = outcome { session } else { nil } }

  /// Checks that the response is an account-exists conflict with a pending token.
  func conflict(_ then: (AccountExists) -> Step) -> Step {
    guard case .accountExists(let exists)? = outcome else { return unexpected }
    return exists.pendingToken.isEmpty ? .wrong("the conflict has no pending token") : then(exists)
  }
}

extension SessionResponse {
  /// Checks that the response contains a session of the account, or of any account if `accountID` is nil.
  func session(of accountID: String?, _ then: (Session) -> Step = { _ in .done }) -> Step {
    guard let session else { return unexpected }
    return session.flaw(of: accountID).map(Step.wrong) ?? then(session)
  }

  /// The step for an outcome that the call cannot have. Names the outcome.
  var unexpected: Step {
    let outcome = Mirror(reflecting: self).descendant("outcome", "some")
    let name = outcome.flatMap { Mirror(reflecting: $0).children.first?.label } ?? "none"
    return .wrong("the outcome " + name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" })
  }
}

extension Session {
  var accountID: String { account?.accountID ?? "" }

  /// Returns what is wrong with a session of the account, or nil if nothing is.
  fileprivate func flaw(of accountID: String?) -> String? {
    if idToken.isEmpty { return "the session has no ID token" }
    if refreshToken.isEmpty { return "the session has no refresh token" }
    if self.accountID.isEmpty { return "the session has no account" }
    if let accountID, self.accountID != accountID { return "the session is of another account" }
    return nil
  }

  func isLinked(to providerID: String) -> Bool {
    account?.providers.contains { $0.providerID == providerID } ?? false
  }
}

extension Step {
  /// Checks that a response contains the account.
  static func account(
    _ account: Account?, is accountID: String?, _ then: (Account) -> Step = { _ in .done }
  ) -> Step {
    guard let account, account.accountID == accountID else { return .wrong("another account") }
    return then(account)
  }

  static func expires(atMillis millis: Int64?, _ then: () -> Step = { .done }) -> Step {
    (millis ?? 0) > wallMillis() ? then() : .wrong("the verification has expired already")
  }

  /// Continues with a session of a recent login, which sensitive operations require.
  static func withRecentLogin(_ user: LoadUser, atNanos nowNanos: Int64, _ then: @escaping () -> Step) -> Step {
    user.hasRecentLogin(atNanos: nowNanos) ? then() : withNewLogin(user, then)
  }

  static func withNewLogin(_ user: LoadUser, _ then: @escaping () -> Step = { .done }) -> Step {
    .call(AuthRPC.signIn, SignInRequest(credential: user.credential)) { response, nowNanos in
      response.session(of: user.accountID) {
        user.signedIn($0, atNanos: nowNanos)
        return then()
      }
    }
  }

  /// Creates an anonymous account, which the iteration may change.
  static func withAnonymousSession(_ then: @escaping (Session) -> Step) -> Step {
    .call(AuthRPC.signIn, SignInRequest(credential: .anonymous)) { response, _ in response.session(of: nil, then) }
  }
}

extension Credential {
  static let anonymous = Credential(kind: .anonymous(AnonymousCredential()))

  static func password(_ login: PasswordCredential) -> Credential { Credential(kind: .password(login)) }

  static func provider(_ token: ProviderTokenCredential) -> Credential { Credential(kind: .providerToken(token)) }

  static func customToken(_ token: String) -> Credential {
    Credential(kind: .customToken(CustomTokenCredential(token: token)))
  }
}
