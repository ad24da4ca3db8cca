/// One call, as a workload asks for it.
enum Call {
  /// A connection, opened by a TLS handshake.
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
  /// The codes of these three are nobody's.
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

  /// The reason with which the server must refuse it; nil: it must not.
  var refusal: String? {
    switch self {
    case .checkCode, .confirmEmail, .resetPassword: "INVALID_CODE"
    default: nil
    }
  }

  /// What is wanted of an answer that is a stream.
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

/// An ID token of a provider.
struct ProviderToken: Equatable {
  var providerID: String
  var idToken: String
}

/// A flow that is started and never ended.
struct FlowWish: Equatable {
  var providerID = "oidc.corp"
  var redirectURI = "http://localhost:3000/callback"
}

/// An account to be taken over, whose address is proved.
struct ImportRow: Equatable {
  var accountID: String
  var email: String
  /// Of a telephone as the second factor; empty: there is none.
  var factorNumber = ""
  /// Of an identity of `providerID`; empty: there is none.
  var subject = ""

  /// Whether the server has it or not.
  static let providerID = "google.com"
}

enum Credential {
  case password(Login)
  case provider(ProviderToken)
  case customToken(String)
  case anonymous
}
