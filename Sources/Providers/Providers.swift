// Providers: turns a token of an identity provider into an assertion, or refuses it.
//
// Owns: the settings of a provider, its cached key set, every rule that its ID tokens must pass, and the trust that an
// asserted address deserves.
// Does not own: signatures and claims as such (Tokens), the network (Fetch), what follows from an assertion (Identity),
// or the remembering of single-use tokens (Store): it says what is to be spent, the change that signs in spends it.
// Read next: Registry.swift (the surface), OIDC/OIDCProvider.swift (the rules), OIDC/KeyCache.swift (the keys).

package import Store

/// What a caller brings from a provider's own SDK; empty where it brings none.
package struct PresentedToken: Hashable, Sendable {
  package var idToken: String
  package var accessToken: String
  package var rawNonce: String

  package init(idToken: String, accessToken: String = "", rawNonce: String = "") {
    self.idToken = idToken
    self.accessToken = accessToken
    self.rawNonce = rawNonce
  }
}

package struct VerifiedToken: Hashable, Sendable {
  package var assertion: Assertion
  /// Set where the token may be presented once only.
  package var toSpend: ToSpend?

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
  case expired
  case missingOrInvalidNonce
  /// Nothing proves that the token was issued to us.
  case audienceUnverifiable(hint: String)
  /// The provider's keys could not be had; the token may well be good.
  case unavailable(why: String)
}
