// Providers: turns a token or redirect from an identity provider into an assertion, or rejects it.
//
// Owns: the settings of a provider, its cached metadata and keys, the requests to its authorization and token
// endpoints, every rule for its responses, and the trust in an asserted email address.
// Does not own: signatures and claims as such (Tokens), the network (HTTPClient), the storage of a flow until its
// redirect and the effects of an assertion (Identity), or the record of single-use tokens (Store). Providers returns
// the token to spend, and the change that signs in spends it.
// Read next: Contracts.swift (what an adapter can do), Registry.swift (the surface), Adapters.swift (the adapter of
// each provider), OAuth2/CodeFlow.swift (the code grant), OIDC/OIDCClient.swift (the rules of ID tokens).

package import Store

/// The tokens that a caller obtained from a provider's own SDK. An absent token is empty.
package struct PresentedToken: Hashable, Sendable {
  package var idToken: String
  package var accessToken: String
  /// The secret of an OAuth 1.0a access token.
  package var tokenSecret: String
  package var rawNonce: String
  /// Unsigned user data that Apple's kit passes next to the ID token.
  package var userJSON: String

  package init(
    idToken: String = "", accessToken: String = "", tokenSecret: String = "", rawNonce: String = "",
    userJSON: String = ""
  ) {
    self.idToken = idToken
    self.accessToken = accessToken
    self.tokenSecret = tokenSecret
    self.rawNonce = rawNonce
    self.userJSON = userJSON
  }
}

package struct VerifiedToken: Hashable, Sendable {
  @Boxed package var assertion: Assertion
  /// Set if the token may be presented only once.
  package var toSpend: ToSpend?
  package var own = ProvidersOwnTokens()
  /// When the user last authenticated to the provider, if the provider states this under its signature.
  package var authenticatedAt: Timestamp?

  /// The record of a single-use token, and its expiry.
  package struct ToSpend: Hashable, Sendable {
    package var digest: Digest
    package var expiresAt: Timestamp
  }
}

/// Why a token was not accepted. `why` is for the log, `hint` is for the client.
package enum ProviderRefusal: Error, Hashable, Sendable {
  /// No provider with this id is configured.
  case notEnabled
  case invalid(why: String)
  /// The credential is valid, but its user belongs to no allowed organisation: a Google domain or a Microsoft tenant.
  case wrongOrganisation(why: String)
  case expired
  case missingOrInvalidNonce
  /// Nothing proves that the token was issued to us.
  case audienceUnverifiable(hint: String)
  /// The provider or its keys could not be reached. The credential may be valid.
  case unavailable(why: String)
  /// The provider cannot work until the operator makes the change that `fix` describes.
  case misconfigured(why: String, fix: String)
  /// The user or the provider denied access at the authorization endpoint.
  case denied(why: String)
  /// The provider does not accept our client: wrong client secret, or an unknown scope or redirect URI.
  case refused(why: String)
  /// The redirect belongs to another flow, provider or request token.
  case flowMismatch(why: String)
  /// The caller may not set this parameter.
  case reservedParameter(name: String)
  /// The provider revokes no tokens, or is not configured for it.
  case cannotRevoke(hint: String)
  /// The provider does not accept the caller's parameter or scope.
  case invalidParameter(name: String, hint: String)
}
