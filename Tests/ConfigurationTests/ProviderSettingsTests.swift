import Crypto
import HTTPClient
import Identity
import Providers
import Store
import TestSupport
import Testing

@testable import Configuration

private let corp = "id: \"oidc.corp\", issuers: [\"https://corp.example/\"], client_ids: [\"a\"]"
private let hub = "id: 'github.com', client_ids: ['a'], client_secret_env: 'X'"

private func provider(_ text: String) throws -> ProviderSettings {
  try #require(try settings("providers: [{ \(text) }]").providers.first)
}

@Test func `a provider is enabled by being configured; Google needs its client ids only`() throws {
  let settings = try settings(
    """
    providers: [
      { id: "google.com", client_ids: ["web"] },
      { id: "oidc.corp", issuers: ["https://corp.example/"], client_ids: ["a", "b"], algorithms: ["ES256", "EdDSA"],
        nonce: "required", email_trust: "authoritative", authoritative_domains: ["corp.example"],
        require_access_token: true },
      { id: "oidc.keys", issuers: ["https://keys.example"], client_ids: ["a"], jwks_url: "https://keys.example/jwks" },
    ],
    """)
  #expect(settings.policy.enabledProviderIDs == ["google.com", "oidc.corp", "oidc.keys"])
  let google = settings.providers[0]
  #expect(google.clientIDs == ["web"] && google.emailTrust == .google && !google.client.isConfigured)
  #expect(google.endpoints.token == "https://oauth2.googleapis.com/token" && google.scopes.contains("openid"))
  let corp = settings.providers[1]
  #expect(corp.keys == .discovery(url: "https://corp.example/.well-known/openid-configuration"))
  #expect(corp.algorithms == [.es256, .edDSA] && corp.nonce == .required && corp.requireAccessToken)
  #expect(corp.emailTrust == .asserted(.authoritative, authoritativeDomains: ["corp.example"]))
  #expect(settings.providers[2].keys == .jwks(url: "https://keys.example/jwks"))
  #expect(settings.providers[2].emailTrust == .asserted(.unverified, authoritativeDomains: []))
}

@Test func `every provider has default endpoints, and each can be set`() throws {
  let yahoo = try provider("id: 'yahoo.com', client_ids: ['a'], client_secret_env: 'X', token_url: 'https://t.example'")
  #expect(yahoo.endpoints.authorization == "https://api.login.yahoo.com/oauth2/request_auth")
  #expect(yahoo.endpoints.token == "https://t.example")
  #expect(yahoo.keys == .discovery(url: "https://api.login.yahoo.com/.well-known/openid-configuration"))
}

@Test func `the endpoint that revokes tokens is a setting of every provider that can use one`() throws {
  let apple = try provider(
    "id: 'apple.com', client_ids: ['a'], team_id: 'T', key_id: 'K', private_key_file: 'apple.p8'")
  #expect(apple.endpoints.revocation == "https://appleid.apple.com/auth/revoke")
  #expect(try provider(corp + ", revocation_url: 'https://r.example'").endpoints.revocation == "https://r.example")
  let x = "id: 'twitter.com', client_ids: ['a'], client_secret_env: 'X', revocation_url: 'https://r.example'"
  #expect(try provider(x + ", protocol: 'oauth2'").endpoints.revocation == "https://r.example")
  let yahoo = "id: 'yahoo.com', client_ids: ['a'], client_secret_env: 'X', revocation_url: 'https://r.example'"
  for unused in [x, yahoo] {
    #expect(throws: ConfigurationError.self) { try provider(unused) }
  }
}

@Test func `another discovery document provides all endpoints that are not set`() throws {
  let google = try provider(
    "id: 'google.com', client_ids: ['a'], discovery_url: 'https://idp.example/d', token_url: 'https://t.example'")
  #expect(google.endpoints.authorization == "" && google.endpoints.profile == "")
  #expect(google.endpoints.token == "https://t.example")
  #expect(google.endpoints.audienceCheck == "https://oauth2.googleapis.com/tokeninfo")
}

@Test func `the parameters of a flow are settings`() throws {
  let corp = try provider(
    corp + """
      , client_secret_env: 'CORP', client_authentication: 'client_secret_post', scopes: ['openid'], proof_key: false,
      caller_parameters: ['prompt'], require_response_issuer: true, profile: 'never', flow_nonce: false,
      claims: { email: 'mail' }
      """)
  #expect(corp.client.authentication == .post && corp.client.secretSource == .environment("CORP"))
  #expect(corp.scopes == ["openid"] && !corp.usesProofKey && corp.callerParameters == ["prompt"])
  #expect(corp.requireResponseIssuer && corp.profileUse == .never && !corp.flowNonceIsRequired)
  #expect(corp.claims.email == "mail" && corp.claims.subject == "sub")
}

@Test func `files of secrets are relative to the configuration's folder`() throws {
  let apple = try provider(
    "id: 'apple.com', client_ids: ['a'], team_id: 'T', key_id: 'K', private_key_file: 'apple.p8'")
  #expect(apple.client.privateKeySource == .file("/etc/latchkey/apple.p8"))
  #expect(apple.client.teamID == "T" && apple.client.keyID == "K" && apple.client.isConfigured)
}

@Test func `X uses OAuth 1.0a, or OAuth 2 if configured`() throws {
  let client = "id: 'twitter.com', client_ids: ['a'], client_secret_env: 'X'"
  let first = try provider(client)
  #expect(first.flows == .oauth1 && first.endpoints.requestToken == "https://api.x.com/oauth/request_token")
  #expect(first.emailTrust == .asserted(.unverified, authoritativeDomains: []))
  let second = try provider(client + ", protocol: 'oauth2', email_trust: 'verified'")
  #expect(second.flows == .oauth2 && second.endpoints.token == "https://api.x.com/2/oauth2/token")
  #expect(second.emailTrust == .asserted(.verified, authoritativeDomains: []))
}

@Test func `authoritative domains keep the provider's default tier for all other domains`() throws {
  let linkedin = try provider("id: 'linkedin.com', client_ids: ['a'], authoritative_domains: ['corp.example']")
  #expect(linkedin.emailTrust == .asserted(.verified, authoritativeDomains: ["corp.example"]))
  let corp = try provider(corp + ", authoritative_domains: ['corp.example']")
  #expect(corp.emailTrust == .asserted(.unverified, authoritativeDomains: ["corp.example"]))
  let google = try provider(
    "id: 'google.com', client_ids: ['a'], email_trust: 'verified', authoritative_domains: ['corp.example']")
  #expect(google.emailTrust == .asserted(.verified, authoritativeDomains: ["corp.example"]))
}

@Test func `Microsoft's tenants are settings`() throws {
  let id = "11111111-2222-3333-4444-555555555555"
  let microsoft = try provider(
    """
    id: 'microsoft.com', client_ids: ['a'], tenant: 'organizations', allowed_tenants: ['\(id)'],
    email_trusted_tenants: ['\(id)'], trust_domain_ownership: false
    """)
  #expect(microsoft.tenants.tenant == "organizations" && microsoft.tenants.allowed == [id])
  #expect(microsoft.emailTrust == .microsoft(trustedTenants: [id], trustsDomainOwnership: false))
}

@Test(arguments: [
  ("providers[0].client_secret_env", corp + ", client_secret_file: 'a', client_secret_env: 'B'"),
  ("providers[0].client_secret", corp + ", client_secret: 'inline'"),
  ("providers[0].client_authentication", corp + ", client_authentication: 'password'"),
  ("providers[0].private_key_file", corp + ", private_key_file: 'a.pem', client_secret_file: 'b'"),
  ("providers[0].client_secret_file", "id: 'yahoo.com', client_ids: ['a']"),
  ("providers[0].team_id", "id: 'apple.com', client_ids: ['a'], key_id: 'K', private_key_file: 'a.p8'"),
  ("providers[0].client_secret_file", "id: 'twitter.com', client_ids: ['a']"),
  ("providers[0].protocol", corp + ", protocol: 'oauth1'"),
  ("providers[0].protocol", "id: 'github.com', client_ids: ['a'], client_secret_env: 'X', protocol: 'oauth1'"),
  ("providers[0].protocol", "id: 'twitter.com', client_ids: ['a'], client_secret_env: 'X', protocol: 'saml'"),
  (
    "providers[0].email_trust",
    "id: 'facebook.com', client_ids: ['a'], client_secret_env: 'X', email_trust: 'verified'"
  ),
  ("providers[0].tenant", "id: 'microsoft.com', client_ids: ['a'], tenant: 'contoso.com'"),
  ("providers[0].authorization_url", "id: 'oauth2.x', client_ids: ['a'], client_secret_env: 'X'"),
  ("providers[0].authorization_url", corp + ", jwks_url: 'https://corp.example/keys', client_secret_env: 'X'"),
  ("providers[0].token_url", corp + ", token_url: 'http://corp.example/token'"),
  ("providers[0].proof_key", corp + ", client_authentication: 'none', proof_key: false"),
  ("providers[0].claims.sub", corp + ", claims: { sub: 'id' }"),
  ("providers[0].claims.subject", corp + ", claims: { subject: '' }"),
  ("providers[0].claims.subject", corp + ", claims: { subject: 'ids[-1]' }"),
  ("providers[0].claims.email", corp + ", claims: { email: 'emails[1000]' }"),
  ("providers[0].claims.email", corp + ", claims: { email: 'emails[0]value' }"),
  ("providers[0].claims.name", corp + ", claims: { name: '[0]' }"),
  ("providers[0].claims.username", corp + ", claims: { username: '\(String(repeating: "x", count: 257))' }"),
  ("providers[0].hosted_domains", "id: 'google.com', client_ids: ['a'], hosted_domains: ['Corp']"),
  (
    "providers[0].authoritative_domains", "id: 'google.com', client_ids: ['a'], authoritative_domains: ['corp.example']"
  ),
  (
    "providers[0].authorization_url",
    "id: 'facebook.com', client_ids: ['a'], client_secret_env: 'X', discovery_url: 'https://www.facebook.com/d'"
  ),
])
func `check 69: a provider without a required setting is rejected with the setting's name`(
  setting: String, text: String
) {
  #expect(refusal { try settings("providers: [{ \(text) }]") }?.setting == setting)
}

@Test(arguments: [
  ("hosted_domains", corp + ", hosted_domains: ['corp.example']"), ("tenant", corp + ", tenant: 'consumers'"),
  ("allowed_tenants", corp + ", allowed_tenants: ['11111111-2222-3333-4444-555555555555']"),
  ("email_trusted_tenants", corp + ", email_trusted_tenants: ['11111111-2222-3333-4444-555555555555']"),
  ("team_id", corp + ", team_id: 'T'"), ("emails_url", corp + ", emails_url: 'https://corp.example'"),
  ("request_token_url", corp + ", request_token_url: 'https://corp.example'"),
  ("claims", "id: 'google.com', client_ids: ['a'], claims: { subject: 'email' }"),
  ("key_id", corp + ", client_secret_env: 'X', key_id: 'K'"), ("algorithms", hub + ", algorithms: ['ES256']"),
  ("nonce", hub + ", nonce: 'required'"), ("flow_nonce", hub + ", flow_nonce: false"),
  ("require_access_token", hub + ", require_access_token: true"), ("profile", hub + ", profile: 'never'"),
  ("trust_domain_ownership", hub + ", trust_domain_ownership: false"),
])
func `check 69: a setting that does not apply to a provider is rejected`(setting: String, text: String) {
  #expect(refusal { try settings("providers: [{ \(text) }]") }?.setting == "providers[0].\(setting)")
}

@Test func `the error states which provider lacks which setting`() {
  let wrong = refusal { try settings("providers: [{ id: 'yahoo.com', client_ids: ['a'] }]") }
  #expect(
    wrong?.description
      == "providers[0].client_secret_file: yahoo.com: it must be set: yahoo.com needs the client's "
      + "credentials")
}

// MARK: Secrets

private func registry(_ text: String, in folder: String) throws -> Registry {
  let file = "{ tls: { certificate_file: 'a', key_file: 'b' }, providers: [{ \(text) }] }"
  return try Settings.parse(Array(file.utf8), folder: folder, environment: [:]).registry(fetching: NoFetching())
}

private func lack(_ text: String, in folder: String = "/nowhere") -> String? {
  do {
    _ = try registry(text, in: folder)
    return nil
  } catch { return (error as? ConfigurationError)?.setting }
}

@Test func `a client secret is read from its file, without the line break`() async throws {
  try await withFolder { folder in
    try write("s3cret\n", to: folder + "/secret")
    #expect(try registry(corp + ", client_secret_file: 'secret'", in: folder).flowProviderIDs == ["oidc.corp"])
    let loaded = try provider(corp + ", client_secret_file: '\(folder)/secret'").loaded([:])
    #expect(loaded.client.secret?.revealed == "s3cret")
    #expect(!"\(loaded)".contains("s3cret"))
  }
}

@Test func `a client secret is read from its variable`() throws {
  let settings = try provider(corp + ", client_secret_env: 'CORP_SECRET'")
  #expect(try settings.loaded(["CORP_SECRET": "s3cret"]).client.secret?.revealed == "s3cret")
  #expect(throws: ProviderSettingsError.self) { try settings.loaded([:]) }
  #expect(lack(corp + ", client_secret_env: 'LATCHKEY_NO_SUCH_VARIABLE'") == "providers[0].client_secret_env")
}

@Test(arguments: [("", false), ("\n", false), ("é", false), ("two\nlines", false), ("with blank", true)])
func `a client secret is one line of ASCII`(text: String, isTaken: Bool) throws {
  let settings = try provider(corp + ", client_secret_env: 'X'")
  #expect(((try? settings.loaded(["X": text])) != nil) == isTaken)
}

@Test(arguments: [(4096, true), (4097, false)])
func `a client secret has at most 4096 bytes`(count: Int, isTaken: Bool) async throws {
  let settings = try provider(corp + ", client_secret_env: 'X'")
  let text = String(repeating: "x", count: count)
  #expect(((try? settings.loaded(["X": text])) != nil) == isTaken)
  try await withFolder { folder in
    try write(text, to: folder + "/secret")
    #expect((lack(corp + ", client_secret_file: 'secret'", in: folder) == nil) == isTaken)
  }
}

@Test func `an unreadable secret file or invalid key is rejected with its setting`() async throws {
  #expect(lack(corp) == nil)
  #expect(lack(corp + ", client_secret_file: 'secret'") == "providers[0].client_secret_file")
  let signed = corp + ", client_authentication: 'private_key_jwt', private_key_file: 'key'"
  #expect(lack(signed) == "providers[0].private_key_file")
  try await withFolder { folder in
    try write("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", to: folder + "/key")
    #expect(lack(signed, in: folder) == "providers[0].private_key_file")
  }
}
