package import HTTPClient
package import Store

/// The configured providers. Any thread may use them. A wrong configuration never becomes a registry (check 69).
package struct Registry: Sendable {
  /// A provider with its capabilities, looked up once: a cast to a protocol takes longer than a dictionary lookup.
  private struct Entry {
    let provider: any IdentityProvider
    let idTokens: (any VerifiesIDTokens)?
    let accessTokens: (any VerifiesAccessTokens)?
    let flows: (any StartsFlows)?
    let revoker: (any RevokesTokens)?

    init(_ provider: any IdentityProvider) {
      self.provider = provider
      idTokens = provider as? any VerifiesIDTokens
      accessTokens = provider as? any VerifiesAccessTokens
      let flows = provider as? any StartsFlows
      self.flows = flows?.flowsAreConfigured == true ? flows : nil
      revoker = provider as? any RevokesTokens
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

  /// - Parameters:
  ///   - previous: a registry whose providers continue, with their cached keys, if their settings are unchanged.
  ///   - unchanged: the ids of these providers.
  package init(
    _ settings: [ProviderSettings], fetching: any HTTPSFetching, previous: Registry? = nil,
    unchanged: Set<String> = []
  ) throws(ProviderSettingsError) {
    var providers: [any IdentityProvider] = []
    for one in settings {
      try one.check()
      if unchanged.contains(one.id), let kept = previous?.entries[one.id]?.provider {
        providers.append(kept)
        continue
      }
      guard let adapter = Adapters.type(of: one.id, flows: one.flows) else {
        throw one.wrong("id", "must name a supported provider")
      }
      providers.append(try adapter.init(one, fetching: fetching))
    }
    try self.init(providers)
    tenants = Dictionary(uniqueKeysWithValues: settings.map { ($0.id, $0.tenants) })
  }

  /// Creates a registry of existing providers. The other initializer creates them from settings.
  init(_ providers: [any IdentityProvider]) throws(ProviderSettingsError) {
    var entries: [String: Entry] = [:]
    for provider in providers {
      let entry = Entry(provider)
      func wrong(_ setting: String, _ why: String) -> ProviderSettingsError {
        ProviderSettingsError(provider: provider.id, setting: setting, why: why)
      }
      guard entries[provider.id] == nil else { throw wrong("id", "is configured twice") }
      for kind in CredentialKind.allCases {
        let isVerified = provider.audienceProofs[kind] != nil
        guard isVerified || !entry.takes(kind) else {
          throw wrong(kind.rawValue, "is accepted without a proof of its audience")
        }
        guard !isVerified || entry.takes(kind) else { throw wrong(kind.rawValue, "has a proof, but is not accepted") }
      }
      entries[provider.id] = entry
    }
    self.entries = entries
  }

  /// Ids of the providers that are configured to send a user to their pages.
  package var flowProviderIDs: Set<String> { Set(entries.filter { $0.value.takes(.authorizationResponse) }.keys) }

  /// Returns the results of those requests to a provider's servers that need no user.
  package func findings(of id: String, at now: Timestamp) async -> [ProviderFinding] {
    await entries[id]?.provider.findings(at: now) ?? []
  }

  /// Returns the subject that a later sign-in will have, from the id in an export. The provider need not be configured.
  package func subject(ofImported text: String, at providerID: String) throws(ProviderRefusal) -> String {
    guard let adapter = Adapters.type(of: providerID) else { return text }
    return try adapter.subject(ofImported: text, tenants[providerID] ?? TenantSettings())
  }

  /// Verifies the token without a request to the provider. Returns nil if one is necessary, which `ask` makes.
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

  /// Verifies the token completely, and fetches missing keys. Throws `ProviderRefusal`.
  package func verify(
    _ token: PresentedToken, of providerID: String, at now: Timestamp
  ) async throws -> VerifiedToken {
    if let verified = try verifyNow(token, of: providerID, at: now) { return verified }
    return try await ask(token, of: providerID, at: now)
  }

  /// Verifies a token for which `verifyNow` returned nil. Throws `ProviderRefusal`.
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
    throw ProviderRefusal.unavailable(why: "the keys expired before they could be used")
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

  /// Revokes a token of the provider. Throws `ProviderRefusal`.
  package func revoke(_ token: RevocableToken, of providerID: String, at now: Timestamp) async throws {
    guard let revoker = try entry(providerID).revoker else {
      throw ProviderRefusal.cannotRevoke(hint: "\(providerID) has no call that revokes a token.")
    }
    try token.check(for: revoker)
    try await revoker.revoke(token, at: now)
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
