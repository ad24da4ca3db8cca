import HTTPClient
import Store

/// A provider that accepts its ID tokens from any caller and supports flows. Adapters differ in how they create their
/// client.
protocol OIDCAdapter: Adapter, VerifiesIDTokens, StartsFlows, RevokesTokens {
  var client: OIDCClient { get }
}

extension OIDCAdapter {
  var id: String { client.settings.id }
  var audienceProofs: [CredentialKind: AudienceProof] { client.audienceProofs }
  var flowsAreConfigured: Bool { client.flow != nil }

  func hint(instead kind: CredentialKind) -> String { Hint.idToken(of: id) }

  func refreshKeys(at now: Timestamp) async { await client.refreshKeys(at: now) }

  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken? {
    try client.verifyNow(presented, at: now)
  }

  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    try await client.start(flow, at: now)
  }

  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    try await client.finish(callback, of: flow, at: now)
  }

  func revoke(_ token: RevocableToken, at now: Timestamp) async throws { try await client.revoke(token, at: now) }
}

/// `oidc.<name>`: any OpenID Connect provider, by configuration. The signature and audience of an ID token prove its
/// claims; a bare access token proves nothing.
struct OIDCProvider: OIDCAdapter {
  let client: OIDCClient

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.scopes = ["openid", "email", "profile"]
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) { try settings.checkSignedTokens() }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    client = OIDCClient(settings, flow: try .openID(settings, fetching: fetching), fetching: fetching)
  }
}

/// What to send instead of a credential that is not accepted.
enum Hint {
  static func idToken(of id: String) -> String {
    "Send the ID token that came with the access token: \(id) does not report a token's audience."
  }

  static func flow(at id: String) -> String {
    "Call StartFlow and send the result of its redirect: \(id) does not report a token's audience."
  }
}
