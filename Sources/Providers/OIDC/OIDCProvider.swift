import Fetch
import Store

/// A provider whose ID tokens are taken from whoever brings them, and which flows can be made with. What it adds to
/// OpenID Connect is in how it makes its client.
protocol OIDCAdapter: Adapter, VerifiesIDTokens, StartsFlows {
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
}

/// `oidc.<name>`: any OpenID Connect provider, by configuration. What ID tokens say is proved by their own signature
/// and audience; a bare access token proves nothing.
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

/// What to bring in place of what is not taken.
enum Hint {
  static func idToken(of id: String) -> String {
    "An access token of \(id) does not say for whom it was issued; send the ID token that came with it."
  }

  static func flow(at id: String) -> String {
    "\(id) does not say for whom a token was issued: begin with StartFlow, and send what the redirect brings."
  }
}
