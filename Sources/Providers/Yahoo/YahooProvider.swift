import Crypto
import HTTPClient
import Store

/// `yahoo.com`, by code redemption only. Yahoo does not report the audience of an access token, so a token of another
/// application would sign its user in here.
struct YahooProvider: Adapter, StartsFlows {
  private let client: OIDCClient

  /// Domains in which Yahoo runs the mailboxes. Yahoo Japan is another company with other subjects, and is not among
  /// them.
  static let domains: Set<String> = [
    "yahoo.com", "ymail.com", "rocketmail.com", "myyahoo.com", "yahoo.at", "yahoo.be", "yahoo.ca", "yahoo.co.id",
    "yahoo.co.in", "yahoo.co.kr", "yahoo.co.nz", "yahoo.co.th", "yahoo.co.uk", "yahoo.co.za", "yahoo.com.ar",
    "yahoo.com.au", "yahoo.com.br", "yahoo.com.co", "yahoo.com.hk", "yahoo.com.mx", "yahoo.com.my", "yahoo.com.ph",
    "yahoo.com.sg", "yahoo.com.tr", "yahoo.com.tw", "yahoo.com.vn", "yahoo.cz", "yahoo.de", "yahoo.dk", "yahoo.es",
    "yahoo.fi", "yahoo.fr", "yahoo.gr", "yahoo.hu", "yahoo.ie", "yahoo.in", "yahoo.it", "yahoo.nl", "yahoo.no",
    "yahoo.pl", "yahoo.pt", "yahoo.ro", "yahoo.se",
  ]

  static func standard(id: String) -> ProviderSettings {
    let issuer = "https://api.login.yahoo.com"
    var settings = ProviderSettings(id: id)
    settings.issuers = [issuer]
    settings.keys = .discovery(url: ProviderSettings.discoveryURL(of: issuer))
    settings.algorithms = [.es256, .rs256]
    settings.endpoints = Endpoints(
      authorization: "https://api.login.yahoo.com/oauth2/request_auth",
      token: "https://api.login.yahoo.com/oauth2/get_token",
      profile: "https://api.login.yahoo.com/openid/v1/userinfo")
    settings.scopes = ["openid", "email", "profile"]
    settings.callerParameters = ["language", "login_hint", "prompt"]
    // An address in another domain is the user's secondary address.
    settings.emailTrust = .asserted(.unverified, authoritativeDomains: domains)
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.checkFlowsAreConfigured()
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    client = OIDCClient(settings, flow: try .openID(settings, fetching: fetching), fetching: fetching)
  }

  var id: String { client.settings.id }
  var audienceProofs: [CredentialKind: AudienceProof] { [.authorizationResponse: .redemption] }

  func hint(instead kind: CredentialKind) -> String { Hint.flow(at: id) }

  func findings(at now: Timestamp) async -> [ProviderFinding] { await client.findings(at: now) }

  func start(_ flow: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    try await client.start(flow, at: now)
  }

  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    try await client.finish(callback, of: flow, at: now)
  }
}
