import Testing

@testable import Configuration

private let key = String(repeating: "ab", count: 32)
private let other = String(repeating: "cd", count: 32)
private let files = "tls: { certificate_file: \"c\", key_file: \"k\" }, "

/// Invalid files, and the setting that the error must name.
private let broken: [(setting: String, text: String)] = [
  ("tls.certificate_file", ""),
  ("tls.certificate_file", "tls: { key_file: \"k\" }"),
  ("tls.key_file", "tls: { certificate_file: \"c\" }"),
  ("secrets.master_key_file", files + "secrets: { master_key_file: 'a', master_key_files: ['a'] }"),
  ("tls.client_ca_file", "tls: { certificate_file: \"c\", key_file: \"k\", client_certificates: \"optional\" }"),
  ("tls.client_certificates", "tls: { certificate_file: \"c\", key_file: \"k\", client_certificates: \"some\" }"),
  ("tls.minimum_version", "tls: { certificate_file: \"c\", key_file: \"k\", minimum_version: \"1.1\" }"),
  ("tls.minimum_version", "tls: { certificate_file: \"c\", key_file: \"k\", minimum_version: 1.3 }"),
  ("tls.ciphers", "tls: { certificate_file: \"c\", key_file: \"k\", ciphers: \"all\" }"),
  ("listen", files + "listen: 8443"),
  ("listen.prot", files + "listen: { prot: 8443 }"),
  ("listen.address", files + "listen: { address: \"localhost\" }"),
  ("listen.address", files + "listen: { address: 127 }"),
  ("metrics.address", files + "metrics: { address: \"localhost\" }"),
  ("metrics.address", files + "metrics: { address: \"localhost\", allow_remote: true }"),
  ("keys.address", files + "keys: { address: \"localhost\" }"),
  ("keys.url", files + "keys: { address: \"127.0.0.1\", url: \"http://localhost\" }"),
  ("keys.url", files + "keys: { address: \"127.0.0.1\", url: \"https://a b\" }"),
  ("keys.url", files + "keys: { address: \"127.0.0.1\" }, tokens: { issuer: \"latchkey\" }"),
  ("listen.allow_unidentified", files + "listen: { allow_unidentified: \"yes\" }"),
  ("listen.allow_unidentified", files + "listen: { allow_unidentified: true, address: \"0.0.0.0\" }"),
  ("listen.allow_unidentified", files + "listen: { allow_unidentified: true, address: \"::\" }"),
  ("listen.reflection", files + "listen: { reflection: 1 }"),
  ("listne", files + "listne: {}"),
  ("log.level", files + "log: { level: \"loud\" }"),
  ("tokens.algorithm", files + "tokens: { algorithm: \"HS256\" }"),
  ("tokens.algorithm", files + "tokens: { algorithm: \"ES384\" }"),
  ("tokens.issuer", files + "tokens: { issuer: '' }"),
  ("tokens.issuer", files + "tokens: { issuer: 'a\\nb' }"),
  ("tokens.audience", files + "tokens: { audience: '' }"),
  ("tokens.audience", files + "tokens: { audience: 'a\\u0085b' }"),
  ("policy.auto_link", files + "policy: { auto_link: \"always\" }"),
  ("policy.reclaim", files + "policy: { reclaim: true }"),
  ("custom_token_signers[0].issuer", files + "custom_token_signers: [{ keys_file: 'k', account_id_prefixes: ['b-'] }]"),
  ("custom_token_signers[0].keys_file", files + "custom_token_signers: [{ issuer: 'b', account_id_prefixes: ['b-'] }]"),
  ("custom_token_signers[0].account_id_prefixes", files + "custom_token_signers: [{ issuer: 'b', keys_file: 'k' }]"),
  (
    "custom_token_signers[0].account_id_prefixes",
    files + "custom_token_signers: [{ issuer: 'b', keys_file: 'k', account_id_prefixes: [''] }]"
  ),
  (
    "custom_token_signers",
    files + "tokens: { issuer: 'b' }, "
      + "custom_token_signers: [{ issuer: 'b', keys_file: 'k', account_id_prefixes: ['b-'] }]"
  ),
  ("policy.sign_up", files + "policy: { sign_up: \"later\" }"),
  ("policy.sign_up", files + "policy: { sign_up: \"verify_first\" }"),
  ("policy.conflict_reveals_methods", files + "policy: { conflict_reveals_methods: \"never\" }"),
  ("policy.password", files + "policy: { password: \"on\" }"),
  ("delivery.mail", files + "delivery: { mail: 'pigeon' }"),
  ("delivery.text_messages", files + "delivery: { text_messages: 'smtp' }"),
  ("delivery.mail", files + "listen: { address: '0.0.0.0' }, delivery: { mail: 'outbox' }"),
  ("delivery.text_messages", files + "listen: { address: '0.0.0.0' }, delivery: { text_messages: 'outbox' }"),
  ("delivery.retry_seconds", files + "delivery: { attempt_seconds: 20 }"),
  ("delivery.retry_seconds", files + "delivery: { retry_max_seconds: 19 }"),
  ("throttles.block_seconds", files + "throttles: { block_seconds: 60, block_seconds_max: 59 }"),
  ("throttles.block_seconds", files + "throttles: { block_seconds_max: 899 }"),
  ("store.backup_folder", files + "store: { postgres: { conninfo: 'host=/run' }, backup_folder: 'backups' }"),
  ("delivery.smtp.host", files + "delivery: { mail: 'smtp', smtp: { from: 'a@b.example' } }"),
  ("delivery.smtp.host", files + "delivery: { mail: 'smtp', smtp: { host: 'a/b', from: 'a@b.example' } }"),
  ("delivery.smtp.from", files + "delivery: { mail: 'smtp', smtp: { host: 'relay.example' } }"),
  ("delivery.smtp.from", files + "delivery: { mail: 'smtp', smtp: { host: 'relay.example', from: 'a@b>c' } }"),
  (
    "delivery.smtp.user",
    files + "delivery: { mail: 'smtp', smtp: { host: 'relay.example', from: 'a@b.example', user: 'u' } }"
  ),
  (
    "delivery.smtp.helo_name",
    files + "delivery: { mail: 'smtp', smtp: { host: 'relay.example', from: 'a@b.example', helo_name: 'a b' } }"
  ),
  ("delivery.smtp.security", files + "delivery: { smtp: { security: 'maybe' } }"),
  ("delivery.smtp.password_env", files + "delivery: { smtp: { password_file: 'a', password_env: 'B' } }"),
  (
    "delivery.webhook.url",
    files + "delivery: { mail: 'webhook', webhook: { url: 'http://h.example', secret_env: 'S' } }"
  ),
  ("delivery.webhook.url", files + webhook("https://")),
  ("delivery.webhook.url", files + webhook("https://us:pw@h.example/messages")),
  ("delivery.webhook.url", files + webhook("https://h.example/a b")),
  ("delivery.webhook.url", files + webhook("")),
  (
    "delivery.webhook.secret_file",
    files + "delivery: { text_messages: 'webhook', webhook: { url: 'https://h.example' } }"
  ),
  ("callers", files + "callers: {}"),
  ("callers[0]", files + "callers: [\"web\"]"),
  ("callers[0].name", files + "callers: [{ san: \"dns:a\" }]"),
  ("callers[0].name", files + "callers: [{ name: \"\(String(repeating: "n", count: 129))\", san: \"dns:a\" }]"),
  ("callers[0].san", files + "callers: [{ name: \"web\" }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'spiffe://test/web' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'web.example' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'URI:spiffe://test/web' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'uri:' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'uri:web' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'uri:spiffe://test/*' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'dns:' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'dns:*.example' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'dns:spiffe://test/web' }]"),
  ("callers[0].san", files + "callers: [{ name: 'web', san: 'dns:web example' }]"),
  ("callers[1].san", files + "callers: [{ name: 'web', san: 'dns:a' }, { name: 'app', san: 'dns:A' }]"),
  ("callers[0].api_keys[0].sha256", files + "callers: [{ name: 'web', api_keys: [{ sha256: 'abc' }] }]"),
  ("callers[0].api_keys[0].sha256", files + "callers: [{ name: 'web', api_keys: [{ sha256: '\(key)ab' }] }]"),
  ("callers[0].api_keys[0].sha256", files + "callers: [{ name: 'web', api_keys: [{ name: 'a' }] }]"),
  ("callers[0].api_keys", files + "callers: [{ name: 'web', api_keys: '\(key)' }]"),
  (
    "callers[0].api_keys[0].not_after",
    files + "callers: [{ name: 'web', api_keys: [{ sha256: '\(key)', not_after: '2027-02-30' }] }]"
  ),
  (
    "callers[0].api_keys[1].sha256",
    files + "callers: [{ name: 'web', api_keys: [{ sha256: '\(key)', name: 'a' }, { sha256: '\(key)', name: 'b' }] }]"
  ),
  (
    "callers[0].api_keys[1].name",
    files + "callers: [{ name: 'web', api_keys: [{ sha256: '\(key)', name: 'a' }, { sha256: '\(other)', name: 'a' }] }]"
  ),
  ("callers[0].api_key_sha256", files + "callers: [{ name: 'web', api_key_sha256: '\(key)0' }]"),
  (
    "callers[0].api_key_sha256",
    files + "callers: [{ name: 'web', api_key_sha256: '\(key)', api_keys: [{ sha256: '\(other)' }] }]"
  ),
  ("callers[0].audiences", files + "callers: [{ name: \"web\", san: \"dns:a\", audiences: [] }]"),
  ("callers[0].audiences", files + "callers: [{ name: \"web\", san: \"dns:a\", audiences: [1] }]"),
  ("callers[0].audiences", files + "callers: [{ name: \"web\", san: \"dns:a\", audiences: [\"web\", \"\"] }]"),
  ("callers[0].audiences", files + "callers: [{ name: \"web\", san: \"dns:a\", audiences: [\"we\\u0001b\"] }]"),
  ("callers[0].methods", files + "callers: [{ name: \"web\", san: \"dns:a\", methods: [\"latchkey.v1.Nothing/*\"] }]"),
  (
    "callers[0].methods",
    files + "callers: [{ name: \"web\", san: \"dns:a\", methods: [\"latchkey.v1.AuthService/In\"] }]"
  ),
  (
    "callers[0].methods",
    files + "callers: [{ name: \"web\", san: \"dns:a\", methods: [\"latchkey.v1.AuthService\"] }]"
  ),
  ("callers[0].role", files + "callers: [{ name: \"web\", san: \"dns:a\", role: \"x\" }]"),
  ("callers[1].name", files + "callers: [{ name: \"web\", san: \"dns:a\" }, { name: \"web\", san: \"dns:b\" }]"),
  ("callers[1].san", files + "callers: [{ name: \"web\", san: \"dns:a\" }, { name: \"app\", san: \"dns:a\" }]"),
  (
    "callers[2].api_keys[0].sha256",
    files + """
      callers: [{ name: "a", api_keys: [{ sha256: "\(key)" }] }, { name: "b", san: "dns:b" },
                { name: "c", api_keys: [{ sha256: "\(key.uppercased())" }] }]
      """
  ),
  ("providers", files + "providers: \"google.com\""),
  ("providers[0].id", files + "providers: [{}]"),
  ("providers[0].id", files + "providers: [{ id: \"corp\", issuers: [\"https://a\"], client_ids: [\"a\"] }]"),
  ("providers[0].id", files + "providers: [{ id: \"oidc.\", issuers: [\"https://a\"], client_ids: [\"a\"] }]"),
  ("providers[0].client_ids", files + "providers: [{ id: \"google.com\" }]"),
  ("providers[0].client_ids", files + "providers: [{ id: \"google.com\", client_ids: [\"\"] }]"),
  ("providers[0].issuers", files + "providers: [{ id: \"oidc.a\", client_ids: [\"a\"] }]"),
  ("providers[0].issuers", files + "providers: [{ id: \"oidc.a\", issuers: [\"http://a\"], client_ids: [\"a\"] }]"),
  ("providers[0].discovery_url", files + google("discovery_url: \"http://a\"")),
  ("providers[0].jwks_url", files + google("jwks_url: \"ftp://a\"")),
  ("providers[0].algorithms", files + google("algorithms: [\"HS256\"]")),
  ("providers[0].algorithms", files + google("algorithms: [\"none\"]")),
  ("providers[0].algorithms", files + google("algorithms: []")),
  ("providers[0].nonce", files + google("nonce: \"maybe\"")),
  ("providers[0].email_trust", files + google("email_trust: \"blind\"")),
  (
    "providers[0].authoritative_domains",
    files + google("email_trust: \"authoritative\", authoritative_domains: [\"Example.com\"]")
  ),
  ("providers[0].secret", files + google("secret: \"x\"")),
  (
    "providers[1].id",
    files + "providers: [{ id: \"google.com\", client_ids: [\"a\"] }, { id: \"google.com\", client_ids: [\"b\"] }]"
  ),
]

private func google(_ text: String) -> String { "providers: [{ id: \"google.com\", client_ids: [\"a\"], \(text) }]" }

private func webhook(_ url: String) -> String {
  "delivery: { mail: 'webhook', webhook: { url: '\(url)', secret_env: 'S' } }"
}

@Test(arguments: broken)
func `a wrong setting is rejected by name, in one line`(setting: String, text: String) {
  #expect(refusal { try parsed(text) }?.setting == setting)
}

@Test(arguments: ["", "[]", "{ listen: { port: 8443 }", "\0", "null, {}", "\u{FEFF}x", "{ 'a' 1 }"])
func `a file that is not a JSON5 object is rejected as a whole`(text: String) {
  #expect(refusal { try Settings.parse(Array(text.utf8), folder: "", environment: [:]) }?.setting == "the file")
}

@Test func `bytes that are not text are rejected as a whole`() {
  let refused = refusal { try Settings.parse([0x7b, 0xff, 0xfe, 0x7d], folder: "", environment: [:]) }
  #expect(refused?.setting == "the file")
}

@Test(arguments: [("127.0.0.1", true), ("127.1.2.3", true), ("::1", true), ("10.0.0.1", false), ("128.0.0.1", false)])
func `unidentified callers are allowed at loopback addresses only`(address: String, isAllowed: Bool) throws {
  let text = "listen: { address: \"\(address)\", allow_unidentified: true }"
  if isAllowed {
    #expect(try settings(text).allowUnidentified)
  } else {
    #expect(refusal { try settings(text) }?.setting == "listen.allow_unidentified")
  }
}

@Test(arguments: ["127.0.0.1", "127.1.2.3", "::1", "10.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
func `metrics listen at loopback addresses only, unless remote addresses are allowed`(address: String) throws {
  let isLoopback = ["127.0.0.1", "127.1.2.3", "::1"].contains(address)
  if isLoopback {
    #expect(try settings("metrics: { address: \"\(address)\" }").metricsAddress == address)
  } else {
    let refused = refusal { try settings("metrics: { address: \"\(address)\" }") }
    #expect(refused?.setting == "metrics.address" && refused?.why.contains("metrics.allow_remote") == true)
  }
  #expect(try settings("metrics: { address: \"\(address)\", allow_remote: true }").metricsAddress == address)
}
