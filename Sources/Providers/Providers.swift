// Providers: turns what an identity provider gives a person, a token or a redirect, into an assertion, or refuses it.
//
// Owns: the settings of a provider, its cached metadata and keys, what its authorization and token endpoints are asked,
// every rule that its answers must pass, and the trust that an asserted address deserves.
// Does not own: signatures and claims as such (Tokens), the network (Fetch), where a flow waits for its redirect and
// what follows from an assertion (Identity), or the remembering of single-use tokens (Store): it says what is to be
// spent, the change that signs in spends it.
// Read next: Contracts.swift (what an adapter can do), Registry.swift (the surface), Adapters.swift (who serves whom),
// OAuth2/CodeFlow.swift (the code grant), OIDC/OIDCClient.swift (the rules of ID tokens).

package import Store

/// What a caller brings from a provider's own SDK; empty where it brings none.
package struct PresentedToken: Hashable, Sendable {
  package var idToken: String
  package var accessToken: String
  /// Of an OAuth 1.0a access token.
  package var tokenSecret: String
  package var rawNonce: String

  package init(idToken: String = "", accessToken: String = "", tokenSecret: String = "", rawNonce: String = "") {
    self.idToken = idToken
    self.accessToken = accessToken
    self.tokenSecret = tokenSecret
    self.rawNonce = rawNonce
  }
}

package struct VerifiedToken: Hashable, Sendable {
  @Boxed package var assertion: Assertion
  /// Set where the token may be presented once only.
  package var toSpend: ToSpend?
  package var own = ProvidersOwnTokens()
  /// When the person last proved itself to the provider, where the provider says so under its signature.
  package var authenticatedAt: Timestamp?

  /// What to remember of a single-use token, and until when.
  package struct ToSpend: Hashable, Sendable {
    package var digest: Digest
    package var expiresAt: Timestamp
  }
}

/// Why a token was not accepted. Texts called `why` are for the log, `hint` is for the client.
package enum ProviderRefusal: Error, Hashable, Sendable {
  /// No provider of this id is configured.
  case notEnabled
  case invalid(why: String)
  /// The credential is good, and its person is of no organisation that is wanted: a domain of Google's, a tenant of
  /// Microsoft's.
  case wrongOrganisation(why: String)
  case expired
  case missingOrInvalidNonce
  /// Nothing proves that the token was issued to us.
  case audienceUnverifiable(hint: String)
  /// The provider, or its keys, could not be had; the credential may well be good.
  case unavailable(why: String)
  /// The provider cannot work until the operator changes something: `fix` says what.
  case misconfigured(why: String, fix: String)
  /// The person, or the provider in its name, said no at the authorization endpoint.
  case denied(why: String)
  /// The provider does not accept us: wrong client secret, a scope or redirect URI that it does not know.
  case refused(why: String)
  /// The redirect belongs to another flow, provider or request token.
  case flowMismatch(why: String)
  /// The caller may not set this parameter.
  case reservedParameter(name: String)
  /// The caller's parameter or scope is none that the provider takes.
  case invalidParameter(name: String, hint: String)
}
