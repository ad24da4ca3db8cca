package import Fetch
package import Store

/// The configured providers. Safe to use from every thread; a wrong configuration never becomes one (check 69).
package struct Registry: Sendable {
  /// A provider with what it takes, looked up once: asking a type for its protocols takes longer than a map.
  private struct Entry {
    let provider: any IdentityProvider
    let idTokens: (any VerifiesIDTokens)?
    let accessTokens: (any VerifiesAccessTokens)?
    let flows: (any StartsFlows)?

    init(_ provider: any IdentityProvider) {
      self.provider = provider
      idTokens = provider as? any VerifiesIDTokens
      accessTokens = provider as? any VerifiesAccessTokens
      let flows = provider as? any StartsFlows
      self.flows = flows?.flowsAreConfigured == true ? flows : nil
    }

    func takes(_ kind: CredentialKind) -> Bool {
      switch kind {
      case .idToken: idTokens != nil
      case .accessToken: accessTokens != nil
      case .authorizationResponse: flows != nil
      }
    }
  }

  private let entries: [String: Entry]
  private var tenants: [String: TenantSettings] = [:]

  package init(_ settings: [ProviderSettings], fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var providers: [any IdentityProvider] = []
    for one in settings {
      try one.check()
      guard let adapter = Adapters.type(of: one.id, flows: one.flows) else {
        throw one.wrong("id", "is none of a provider")
      }
      providers.append(try adapter.init(one, fetching: fetching))
    }
    try self.init(providers)
    tenants = Dictionary(uniqueKeysWithValues: settings.map { ($0.id, $0.tenants) })
  }

  /// Providers as they are; the other way in makes them of settings.
  init(_ providers: [any IdentityProvider]) throws(ProviderSettingsError) {
    var entries: [String: Entry] = [:]
    for provider in providers {
      let entry = Entry(provider)
      func wrong(_ setting: String, _ why: String) -> ProviderSettingsError {
        ProviderSettingsError(provider: provider.id, setting: setting, why: why)
      }
      guard entries[provider.id] == nil else { throw wrong("id", "is configured twice") }
      for kind in CredentialKind.allCases {
        let isProved = provider.audienceProofs[kind] != nil
        guard isProved || !entry.takes(kind) else {
          throw wrong(kind.rawValue, "is taken without a proof of its audience")
        }
        guard !isProved || entry.takes(kind) else { throw wrong(kind.rawValue, "is proved, but not taken") }
      }
      entries[provider.id] = entry
    }
    self.entries = entries
  }

  /// Those that can send a person to their pages, as configured.
  package var flowProviderIDs: Set<String> { Set(entries.filter { $0.value.takes(.authorizationResponse) }.keys) }

  /// Asks a provider's servers what can be asked without a user.
  package func findings(of id: String, at now: Timestamp) async -> [ProviderFinding] {
    await entries[id]?.provider.findings(at: now) ?? []
  }

  /// The subject that a later sign-in will have, from what an export calls it. The provider need not be configured.
  package func subject(ofImported text: String, at providerID: String) throws(ProviderRefusal) -> String {
    guard let adapter = Adapters.type(of: providerID) else { return text }
    return try adapter.subject(ofImported: text, tenants[providerID] ?? TenantSettings())
  }

  /// The answer where the provider need not be asked; nil where it has to be, which `ask` does.
  package func verifyNow(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) throws(ProviderRefusal) -> VerifiedToken? {
    let entry = try entry(providerID)
    guard !token.idToken.isEmpty else {
      _ = try accessTokens(entry, token)
      return nil
    }
    return try idTokens(entry).verifyNow(token, at: now)
  }

  /// Verifies the token completely, fetching keys where they are missing. Throws `ProviderRefusal`.
  package func verify(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) async throws -> VerifiedToken {
    if let verified = try verifyNow(token, of: providerID, at: now) { return verified }
    return try await ask(token, of: providerID, at: now)
  }

  /// The same of a token that `verifyNow` has no answer for.
  package func ask(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) async throws -> VerifiedToken {
    let entry = try entry(providerID)
    guard !token.idToken.isEmpty else {
      return try await accessTokens(entry, token).verify(accessToken: token, at: now)
    }
    let verifier = try idTokens(entry)
    for _ in 0..<KeyCache.fetchesForOneToken {
      await verifier.refreshKeys(at: now)
      if let verified = try verifier.verifyNow(token, at: now) { return verified }
    }
    throw ProviderRefusal.unavailable(why: "the keys were over before they could be used")
  }

  /// Throws `ProviderRefusal`.
  package func start(
    _ flow: FlowRequest, at providerID: String, at now: Timestamp
  ) async throws -> StartedFlow {
    try await flows(providerID).start(flow, at: now)
  }

  /// Throws `ProviderRefusal`.
  package func finish(
    _ callback: Callback, of flow: FlowState, at providerID: String, at now: Timestamp
  ) async throws -> VerifiedToken {
    try await flows(providerID).finish(callback, of: flow, at: now)
  }

  private func entry(_ id: String) throws(ProviderRefusal) -> Entry {
    guard let entry = entries[id] else { throw .notEnabled }
    return entry
  }

  private func idTokens(_ entry: Entry) throws(ProviderRefusal) -> any VerifiesIDTokens {
    guard let verifier = entry.idTokens else {
      throw .audienceUnverifiable(hint: entry.provider.hint(instead: .idToken))
    }
    return verifier
  }

  private func accessTokens(
    _ entry: Entry, _ token: PresentedToken
  ) throws(ProviderRefusal) -> any VerifiesAccessTokens {
    guard !token.accessToken.isEmpty else { throw .invalid(why: "no token") }
    guard let verifier = entry.accessTokens else {
      throw .audienceUnverifiable(hint: entry.provider.hint(instead: .accessToken))
    }
    return verifier
  }

  private func flows(_ providerID: String) throws(ProviderRefusal) -> any StartsFlows {
    guard let flows = try entry(providerID).flows else { throw .notEnabled }
    return flows
  }
}
