package import Store

// The capabilities of an adapter, one protocol each. A provider conforms only to those that its owner supports: it
// accepts nothing that it cannot verify.

/// One configured provider.
package protocol IdentityProvider: Sendable {
  var id: String { get }
  /// How this provider proves that a credential was issued to us, for each kind that it accepts. The registry rejects a
  /// provider that accepts a kind without proof.
  var audienceProofs: [CredentialKind: AudienceProof] { get }
  /// Returns what the client must send instead of a kind that this provider does not accept.
  func hint(instead kind: CredentialKind) -> String
  /// Returns the results of those requests to the provider's servers that need no user.
  func findings(at now: Timestamp) async -> [ProviderFinding]
}

extension IdentityProvider {
  package func findings(at now: Timestamp) async -> [ProviderFinding] { [] }
}

package enum CredentialKind: String, Hashable, Sendable, CaseIterable {
  case idToken = "id_token"
  case accessToken = "access_token"
  /// The redirect that ends one of our flows.
  case authorizationResponse = "authorization_response"
}

package enum AudienceProof: String, Hashable, Sendable, CaseIterable {
  /// The signed token names one of our client ids.
  case audienceClaim
  /// The provider itself states to which client it issued the token.
  case providersCheck
  /// A call signed with our consumer key works with this token only if it was issued to us (RFC 5849).
  case signedCall
  /// We redeemed the code with our client id and its secret or proof key.
  case redemption
}

/// A provider that verifies ID tokens that the caller obtained from the provider's own SDK.
package protocol VerifiesIDTokens: IdentityProvider {
  /// Returns nil if the signing key is not cached and the provider may be asked for it.
  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken?
  func refreshKeys(at now: Timestamp) async
}

/// A provider that verifies access tokens (for OAuth 1.0a with their secret) by an audience proof that it offers.
package protocol VerifiesAccessTokens: IdentityProvider {
  /// Throws `ProviderRefusal`.
  func verify(accessToken presented: PresentedToken, at now: Timestamp) async throws -> VerifiedToken
}

/// A provider that sends the user to its pages and turns the redirect into an assertion.
package protocol StartsFlows: IdentityProvider {
  /// Whether flows are configured. They need a secret or key of ours, which verifying tokens may not need. Without it,
  /// the provider accepts no redirect.
  var flowsAreConfigured: Bool { get }
  /// Throws `ProviderRefusal`.
  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow
  /// Throws `ProviderRefusal`. The caller has compared `state` and the redirect URI, and calls this at most once per
  /// flow.
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken
}

extension StartsFlows {
  package var flowsAreConfigured: Bool { true }
}

/// The parameters of a new flow. The caller generates the random ones, not the adapter.
package struct FlowRequest: Hashable, Sendable {
  /// An entry of our allow-list, byte for byte.
  package var redirectURI: String
  /// In addition to the provider's basic ones.
  package var scopes: [String]
  /// The caller's own parameters of the authorization request. An adapter rejects reserved ones.
  package var parameters: [String: String]
  package var loginHint: String
  /// Whether the provider must re-authenticate the user, even if the user has a session there.
  package var freshLogin: Bool
  /// Random base64url texts of 43 characters each.
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
  /// False if the protocol has no `state`. The adapter then compares another value that binds the redirect to the flow.
  package var stateIsEchoed: Bool
  /// Data that the adapter needs at the end, such as a request token and its secret. The store keeps it sealed.
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

/// The stored data of a flow when its callback arrives.
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

/// The decoded parameters of the redirect, without duplicates (RFC 6749, 3.1).
package struct Callback: Hashable, Sendable {
  package var parameters: [String: String]

  package init(_ parameters: [String: String]) { self.parameters = parameters }

  package subscript(_ name: String) -> String? { parameters[name] }
}

/// The provider's own tokens. The caller receives them, and the server does not store them.
package struct ProvidersOwnTokens: Hashable, Sendable {
  package var accessToken = ""
  package var idToken = ""
  /// The secret of an OAuth 1.0a access token.
  package var secret = ""
  package var refreshToken = ""
  package var expiresInSeconds: Int64?
  /// In the provider's order; empty if the provider does not report them.
  package var grantedScopes: [String] = []

  package init() {}
}
