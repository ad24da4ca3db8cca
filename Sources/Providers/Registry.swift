package import Fetch
package import Store

/// The configured providers. Safe to use from every thread; a wrong configuration never becomes one (check 69).
package struct Registry: Sendable {
  private let providers: [String: OIDCProvider]

  package init(_ settings: [ProviderSettings], fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var providers: [String: OIDCProvider] = [:]
    for one in settings {
      try one.check()
      guard providers[one.id] == nil else {
        throw ProviderSettingsError(provider: one.id, setting: "id", why: "is configured twice")
      }
      providers[one.id] = OIDCProvider(one, fetching: fetching)
    }
    self.providers = providers
  }

  package var providerIDs: Set<String> { Set(providers.keys) }

  /// The answer where the provider's keys are at hand; nil where they have to be fetched, which `verify` does.
  package func verifyNow(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) throws(ProviderRefusal) -> VerifiedToken? {
    try provider(providerID, for: token).verifyNow(token, at: now)
  }

  /// Verifies the token completely, fetching keys at most once. Throws `ProviderRefusal`.
  package func verify(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) async throws -> VerifiedToken {
    let provider = try provider(providerID, for: token)
    if let verified = try provider.verifyNow(token, at: now) { return verified }
    await provider.refreshKeys(at: now)
    guard let verified = try provider.verifyNow(token, at: now) else {
      throw ProviderRefusal.unavailable(why: "the keys were over before they could be used")
    }
    return verified
  }

  private func provider(
    _ id: String, for token: PresentedToken
  ) throws(ProviderRefusal) -> OIDCProvider {
    guard let provider = providers[id] else { throw .notEnabled }
    guard token.idToken.isEmpty else { return provider }
    guard token.accessToken.isEmpty else {
      throw .audienceUnverifiable(
        hint: "An access token of \(id) does not say for whom it was issued; send the ID token that came with it.")
    }
    throw .invalid(why: "no token")
  }
}
