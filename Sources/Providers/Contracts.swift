package import Store

// What an adapter can do, contract by contract. A provider conforms to those that its owner's protocol has, and to no
// other: what it cannot prove it does not take.

/// One configured provider.
package protocol IdentityProvider: Sendable {
  var id: String { get }
  /// How it is proved that a credential was issued to us, for each kind that this provider takes. The registry refuses
  /// a provider that takes a kind without proof.
  var audienceProofs: [CredentialKind: AudienceProof] { get }
  /// What to bring in place of a kind that it does not take; for the client.
  func hint(instead kind: CredentialKind) -> String
  /// What the provider's servers answer to what can be asked without a user.
  func findings(at now: Timestamp) async -> [ProviderFinding]
}

extension IdentityProvider {
  package func findings(at now: Timestamp) async -> [ProviderFinding] { [] }
}

package enum CredentialKind: String, Hashable, Sendable, CaseIterable {
  case idToken = "id_token"
  case accessToken = "access_token"
  /// The redirect that ends a flow of ours.
  case authorizationResponse = "authorization_response"
}

package enum AudienceProof: String, Hashable, Sendable, CaseIterable {
  /// The signed token names one of our client ids.
  case audienceClaim
  /// The provider itself says for which client it issued the token.
  case providersCheck
  /// A call signed with our consumer key works with this token only if it was issued to us (RFC 5849).
  case signedCall
  /// The code was redeemed by our client id and its secret or proof key.
  case redemption
}

/// Verifies ID tokens that the caller got from the provider's own kit.
package protocol VerifiesIDTokens: IdentityProvider {
  /// nil: the key that signed it is not here, and the provider may be asked for it.
  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken?
  func refreshKeys(at now: Timestamp) async
}

/// Verifies access tokens (of OAuth 1.0a with their secret) by a proof of their audience that the provider offers.
package protocol VerifiesAccessTokens: IdentityProvider {
  /// Throws `ProviderRefusal`.
  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken
}

/// Sends the person to the provider's pages, and makes an assertion of what comes back.
package protocol StartsFlows: IdentityProvider {
  /// Flows take a secret or a key of ours, which verifying tokens may not. A provider without them takes no redirect.
  var flowsAreConfigured: Bool { get }
  /// Throws `ProviderRefusal`.
  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow
  /// Throws `ProviderRefusal`. The caller has compared `state` and the redirect URI, and calls at most once for a flow.
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken
}

extension StartsFlows {
  package var flowsAreConfigured: Bool { true }
}

/// What a flow is begun with. The random parts are the caller's: an adapter draws nothing.
package struct FlowRequest: Hashable, Sendable {
  /// Of our allow-list, byte for byte.
  package var redirectURI: String
  /// Beyond the provider's basic ones.
  package var scopes: [String]
  /// The caller's own parameters of the authorization request; an adapter refuses those that are reserved.
  package var parameters: [String: String]
  package var loginHint: String
  /// The person is to prove itself anew, whatever session the provider has with it.
  package var freshLogin: Bool
  /// Random, base64url: 43 characters each.
  package var state: String
  package var nonce: String
  package var codeVerifier: String

  package init(
    redirectURI: String, scopes: [String] = [], parameters: [String: String] = [:], loginHint: String = "",
    freshLogin: Bool = false, state: String, nonce: String, codeVerifier: String
  ) {
    self.redirectURI = redirectURI
    self.scopes = scopes
    self.parameters = parameters
    self.loginHint = loginHint
    self.freshLogin = freshLogin
    self.state = state
    self.nonce = nonce
    self.codeVerifier = codeVerifier
  }
}

package struct StartedFlow: Hashable, Sendable {
  package enum ResponseMode: String, Sendable {
    case query
    case formPost = "form_post"
  }

  package var authorizationURL: String
  package var responseMode: ResponseMode
  /// False where the protocol has no `state`: the adapter then compares what binds the redirect to the flow.
  package var stateIsEchoed: Bool
  /// What the adapter needs again at the end, such as a request token and its secret. Kept sealed.
  package var kept: String

  package init(
    authorizationURL: String, responseMode: ResponseMode = .query, stateIsEchoed: Bool = true, kept: String = ""
  ) {
    self.authorizationURL = authorizationURL
    self.responseMode = responseMode
    self.stateIsEchoed = stateIsEchoed
    self.kept = kept
  }
}

/// What is known of a flow when its callback comes.
package struct FlowState: Hashable, Sendable {
  package var redirectURI: String
  package var state: String
  package var nonce: String
  package var codeVerifier: String
  package var kept: String

  package init(redirectURI: String, state: String, nonce: String, codeVerifier: String, kept: String = "") {
    self.redirectURI = redirectURI
    self.state = state
    self.nonce = nonce
    self.codeVerifier = codeVerifier
    self.kept = kept
  }
}

/// The parameters of the redirect, decoded; none twice (RFC 6749, 3.1).
package struct Callback: Hashable, Sendable {
  package var parameters: [String: String]

  package init(_ parameters: [String: String]) { self.parameters = parameters }

  package subscript(_ name: String) -> String? { parameters[name] }
}

/// The provider's own tokens: handed back to the caller and kept nowhere.
package struct ProvidersOwnTokens: Hashable, Sendable {
  package var accessToken = ""
  package var idToken = ""
  /// Of an OAuth 1.0a access token.
  package var secret = ""
  package var refreshToken = ""
  package var expiresInSeconds: Int64?
  /// In the provider's order; empty where it does not say.
  package var grantedScopes: [String] = []

  package init() {}
}
