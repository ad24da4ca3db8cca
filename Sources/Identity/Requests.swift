// What the use cases are asked, after Services has checked the shape of the request.

/// What a caller can present. Addresses are normalised, passwords in NFKC, every text within its limit.
package enum Credential: Hashable, Sendable {
  case password(email: String, password: String)
  case providerToken(ProviderToken)
  /// The redirect that ended a flow of ours.
  case authorizationResponse(AuthorizationResponse)
  case customToken(String)
  /// The id that the sending of the code was answered with, and the digits of the text message.
  case phoneCode(verificationID: String, digits: String)
  /// The address that the link was mailed to, and the code in it.
  case emailLink(email: String, code: String)
  case anonymous
  /// The handle of a held credential, as the client got it.
  case pendingToken(String)
}

package struct AuthorizationResponse: Hashable, Sendable {
  package var flowID: String
  /// Whole, with its query; or the redirect URI with the posted form as its query.
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
  /// Of the account, for all purposes but a sign-in.
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
  /// From an earlier AccountExists; empty: none.
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

  package init(idToken: String, providerID: String) {
    self.idToken = idToken
    self.providerID = providerID
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

package enum FetchProvidersRequest: Hashable, Sendable {
  case email(String)
  case pendingToken(String)
}
