/// One call of a workload.
enum Call {
  /// A new connection with a TLS handshake.
  case connect
  case health
  case watchHealth
  case fetch(email: String)
  case fetchHeld(pendingToken: String)
  case signIn(Credential, pendingToken: String = "")
  case link(idToken: String, ProviderToken)
  case unlink(idToken: String, providerID: String)
  case reauthenticate(idToken: String, Credential)
  case create(Login)
  case get(idToken: String)
  case update(idToken: String, displayName: String)
  case delete(idToken: String)
  case merge(survivorIDToken: String, otherIDToken: String)
  case refresh(refreshToken: String)
  case signOut(idToken: String)
  case revokeAll(idToken: String)
  case listSessions(idToken: String)
  case verify(idToken: String)
  case signingKeys
  case listProviders
  case startFlow(FlowWish)
  case startSecondFactor(pendingToken: String, factorID: String)
  case finishSecondFactor(pendingToken: String, factorID: String, code: String)
  case startEnrollment(idToken: String)
  case finishEnrollment(idToken: String, enrollmentID: String, code: String)
  case withdraw(idToken: String, factorID: String)
  case sendPhoneCode(phoneNumber: String)
  case sendEmailLink(email: String, continueURI: String)
  case sendEmailVerification(idToken: String, continueURI: String)
  case sendPasswordReset(email: String, continueURI: String)
  case sendEmailChange(idToken: String, newEmail: String, continueURI: String)
  /// The codes of these three calls are invalid.
  case checkCode(String)
  case confirmEmail(code: String)
  case resetPassword(code: String, newPassword: String)
  case lookup(email: String)
  case list(pageToken: String)
  case setDisabled(accountID: String, Bool)
  case setCustomClaims(accountID: String, json: String)
  case revokeSessions(accountID: String)
  case deleteAccount(accountID: String)
  case removeSecondFactors(accountID: String)
  case unlinkProvider(accountID: String, providerID: String)
  case createCustomToken(accountID: String)
  case importAccounts([ImportRow])
  case exportAccounts
  case watchEvents(cursor: String, Gathering.Wish)

  /// The reason with which the server must reject the call; nil if the call must succeed.
  var refusal: String? {
    switch self {
    case .checkCode, .confirmEmail, .resetPassword: "INVALID_CODE"
    default: nil
    }
  }

  /// The expected content of a response stream.
  var wish: Gathering.Wish {
    switch self {
    case .importAccounts, .exportAccounts: .all
    case .watchEvents(_, let wish): wish
    default: .first
    }
  }
}

struct Login: Equatable {
  var email: String
  var password: String
}

/// A provider's ID token.
struct ProviderToken: Equatable {
  var providerID: String
  var idToken: String
}

/// A flow that is started but never finished.
struct FlowWish: Equatable {
  var providerID = "oidc.corp"
  var redirectURI = "http://localhost:3000/callback"
}

/// An account to import, with a verified email address.
struct ImportRow: Equatable {
  var accountID: String
  var email: String
  /// The phone number of the second factor; empty if there is none.
  var factorNumber = ""
  /// The subject of the identity at `providerID`; empty if there is none.
  var subject = ""

  /// The provider of imported identities. The server need not have it configured.
  static let providerID = "google.com"
}

enum Credential {
  case password(Login)
  case provider(ProviderToken)
  case customToken(String)
  case anonymous
}
