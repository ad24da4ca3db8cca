// Requests of the use cases. Services has already checked the shape of each request.

/// Credential that a caller presents. Email addresses are normalised, passwords are in NFKC, and every text is within
/// its limit.
package enum Credential: Hashable, Sendable {
  case password(email: String, password: String)
  case providerToken(ProviderToken)
  /// The redirect that ended a flow of this service.
  case authorizationResponse(AuthorizationResponse)
  case customToken(String)
  /// The verification id from the call that sent the code, and the digits of the text message.
  case phoneCode(verificationID: String, digits: String)
  /// The email address that the link was sent to, and the code in the link.
  case emailLink(email: String, code: String)
  case emailCode(EmailDigits)
  case anonymous
  /// The pending token, as the client received it.
  case pendingToken(String)
  case passkey(PasskeyResponse)
}

/// What an authenticator answered to options of this service.
package struct PasskeyResponse: Hashable, Sendable {
  package enum Ceremony: Hashable, Sendable {
    case signIn(String)
    case registration(String)
  }

  /// The id that the call with the options returned.
  package var ceremony: Ceremony
  package var credentialJSON: String
  /// The name of a registered passkey.
  package var name: String

  package init(_ ceremony: Ceremony, credentialJSON: String, name: String = "") {
    self.ceremony = ceremony
    self.credentialJSON = credentialJSON
    self.name = name
  }
}

package struct AuthorizationResponse: Hashable, Sendable {
  package var flowID: String
  /// The complete URI with its query, or the redirect URI with the posted form as its query.
  package var callbackURI: String

  package init(flowID: String, callbackURI: String) {
    self.flowID = flowID
    self.callbackURI = callbackURI
  }
}

package struct StartFlowRequest: Hashable, Sendable {
  package var providerID: String
  package var redirectURI: String
  package var scopes: [String]
  package var parameters: [String: String]
  package var loginHint: String
  package var purpose: FlowPurpose
  /// ID token of the account, for every purpose except sign-in.
  package var idToken: String

  package init(
    providerID: String, redirectURI: String, scopes: [String] = [], parameters: [String: String] = [:],
    loginHint: String = "", purpose: FlowPurpose = .signIn, idToken: String = ""
  ) {
    self.providerID = providerID
    self.redirectURI = redirectURI
    self.scopes = scopes
    self.parameters = parameters
    self.loginHint = loginHint
    self.purpose = purpose
    self.idToken = idToken
  }
}

package struct SignInRequest: Hashable, Sendable {
  package var credential: Credential
  /// From an earlier AccountExists. Empty: none.
  package var pendingToken: String
  package var existingOnly: Bool
  package var claimAddress: Bool

  package init(
    credential: Credential, pendingToken: String = "", existingOnly: Bool = false, claimAddress: Bool = false
  ) {
    self.credential = credential
    self.pendingToken = pendingToken
    self.existingOnly = existingOnly
    self.claimAddress = claimAddress
  }
}

package struct LinkRequest: Hashable, Sendable {
  package var idToken: String
  package var credential: Credential

  package init(idToken: String, credential: Credential) {
    self.idToken = idToken
    self.credential = credential
  }
}

package struct UnlinkRequest: Hashable, Sendable {
  package var idToken: String
  package var providerID: String
  /// Which identity of the provider; empty: the only one.
  package var subject: String

  package init(idToken: String, providerID: String, subject: String = "") {
    self.idToken = idToken
    self.providerID = providerID
    self.subject = subject
  }
}

package struct ReauthenticateRequest: Hashable, Sendable {
  package var idToken: String
  package var credential: Credential

  package init(idToken: String, credential: Credential) {
    self.idToken = idToken
    self.credential = credential
  }
}
