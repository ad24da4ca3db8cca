import Callers
import Crypto
import HTTPClient
import FoundationEssentials
import Identity
import Logging
import Providers
import Store
import TLS
import TestSupport
import Testing

@testable import Configuration
@testable import Transport

@Test func `the error for a file that is not text says so`() {
  for broken: [UInt8] in [[0xFF], Array("{tls".utf8) + [0xFF, 0xFF, 0x7F] + Array(": {}}".utf8)] {
    let wrong = refusal { try Settings.parse(broken, folder: "", environment: [:]) }
    #expect(wrong?.description == "the file: it is not UTF-8")
  }
}

@Test(arguments: ["1e", "+1e-", "1.5E+", "-"])
func `a number without digits is rejected anywhere in the file`(number: String) {
  for text in ["reactors: \(number)", "/* 'it */ reactors: [\(number)]", "// \"\n reactors: \(number)"] {
    let wrong = refusal { try settings(text) }
    let line = text.contains("\n") ? 2 : 1
    #expect(wrong?.setting == "the file" && wrong?.why.hasSuffix(": a number is incomplete") == true)
    #expect(wrong?.why.hasPrefix("it is not JSON5: line \(line), column ") == true)
  }
}

@Test func `text that only looks like such a number is accepted`() throws {
  let text = "log: { /* 1e */ level: 'info' }, reactors: 0xE, // 1e-\n tokens: { issuer: \"1e-\\\"1e\" }"
  #expect(try settings(text).issuer == "1e-\"1e" && settings(text).reactors == 14)
  #expect(refusal { try settings("v1e: 1") }?.setting == "v1e")
}

@Test func `an error is one line, whatever the file contains`() {
  // U+0085 begins a line, like U+000A.
  let wrong = refusal { try settings("\"no\\n\u{85}such\": 1") }
  #expect(wrong?.description == "no\\n\\u{0085}such: there is no such setting")
}

@Test func `the smallest file has two paths, and all other settings have defaults`() throws {
  let settings = try settings()
  #expect(settings.listen.addresses == [ListenSettings.Address(address: "127.0.0.1", port: 8_443)])
  #expect(!settings.allowUnidentified && !settings.unidentifiedMayFetchByEmail && !settings.reflection)
  #expect(settings.tls.clientCertificates == .none && !settings.tls.tls13Only && settings.tls.clientAuthorityFile == "")
  #expect(settings.issuer == "https://localhost:8443" && settings.defaultAudience == "latchkey")
  #expect(settings.certificateLookMillis == 10_000)
  #expect(settings.signingAlgorithm == .es256)
  #expect(settings.passwordMemoryKiB == 19_456 && settings.passwordIterations == 2 && settings.passwordWorkers == 0)
  #expect(settings.reactors == 0 && settings.logLevel == .info)
  #expect(settings.metricsAddress == "" && settings.metricsPort == 9_464 && !settings.metricsAllowRemote)
  #expect(settings.fetchAuthorityFile == "" && !settings.fetchAllowsPrivateAddresses)
  #expect(settings.callers.isEmpty && settings.providers.isEmpty)
}

@Test func `an empty variable does not unset the issuer or the audience of tokens`() {
  for setting in ["tokens.issuer", "tokens.audience"] {
    let wrong = refusal { try settings(environment: [variable(setting): ""]) }
    #expect(wrong?.setting == setting && wrong?.why.contains("(\(variable(setting)) is set)") == true)
  }
}

@Test func `keys are served only if configured, and under the issuer unless a URL is set`() throws {
  #expect(try settings().keysAddress == "")
  let issuer = "tokens: { issuer: \"https://auth.example/\" }"
  #expect(try settings("\(issuer), keys: { address: \"0.0.0.0\" }").keysURL == "https://auth.example")
  let url = "keys: { address: \"::\", url: \"https://keys.example/a/\" }"
  #expect(try settings("\(issuer), \(url)").keysURL == "https://keys.example/a")
}

@Test func `a key is needed for the longest life of any token, and rotation by age can be turned off`() throws {
  #expect(try settings("tokens: { id_token_lifetime_seconds: 60 }").keyPolicy.tokenLifetimeMaxMillis == 3_600_000)
  let cookies = "tokens: { id_token_lifetime_seconds: 60, session_cookies: true }"
  #expect(try settings(cookies).keyPolicy.tokenLifetimeMaxMillis == 1_209_600_000)
  #expect(try settings("tokens: { id_token_lifetime_seconds: 7200 }").keyPolicy.tokenLifetimeMaxMillis == 7_200_000)
  #expect(try settings("tokens: { rotate_days: 0 }").keyPolicy.rotateMillis == nil)
}

@Test func `the default limits and policy are the same in the file reader and in the code`() throws {
  let settings = try settings()
  #expect("\(settings.limits)" == "\(Limits())")
  #expect("\(settings.policy)" == "\(Policy())")
  #expect(settings.keyPolicy == KeyPolicy())
}

@Test func `relative paths are relative to the file's folder, absolute ones stay`() throws {
  let settings = try parsed(
    """
    tls: { certificate_file: "a/server.pem", key_file: "/keys/server.key", client_ca_file: "ca.pem" },
    store: { path: "db" }, fetch: { ca_file: "roots.pem" },
    """)
  #expect(settings.tls.certificateFile == "/etc/latchkey/a/server.pem" && settings.tls.keyFile == "/keys/server.key")
  #expect(settings.tls.clientAuthorityFile == "/etc/latchkey/ca.pem")
  #expect(settings.storePath == "/etc/latchkey/db" && settings.masterKeyFiles == ["/etc/latchkey/master.key"])
  #expect(settings.fetchAuthorityFile == "/etc/latchkey/roots.pem")
}

@Test func `paths are relative to the folder of the file, and the error names a missing file`() async throws {
  try await withFolder { folder in
    let path = folder + "/latchkey.json5"
    try write("{ tls: { certificate_file: 'server.pem', key_file: 'server.key' } } // JSON5", to: path)
    let examined = Settings.examine(path)
    #expect(examined.settings?.storePath == folder + "/latchkey.db")
    #expect(examined.faults.map(\.setting) == ["tls.certificate_file", "secrets.master_key_files"])
    let absent = Settings.examine(folder + "/nowhere.json5").faults.map(\.description)
    #expect(absent == ["--config: \(folder)/nowhere.json5 cannot be read: No such file or directory"])
    let unreadable = Settings.examine(folder).faults.map(\.description)
    #expect(unreadable == ["--config: \(folder) cannot be read: Is a directory"])
  }
}

@Test func `a caller has a name, a certificate or a key, rights and audiences`() throws {
  let callers = try settings(
    """
    tokens: { audience: "everybody" },
    callers: [
      { name: "web", san: "uri:spiffe://test/web", fetch_by_email: true, audiences: ["web", "old"], methods: ["*"] },
      { name: "data", san: "uri:spiffe://test/data", events: true, methods: [] },
      {
        name: "batch",
        api_keys: [
          { sha256: "\(String(repeating: "Ab", count: 32))" },
          { sha256: "\(String(repeating: "cd", count: 32))", not_after: "2027-01-31T00:00:00Z", name: "winter" },
        ],
      },
    ],
    """
  ).callers
  #expect(callers.map(\.name) == ["web", "data", "batch"])
  #expect(callers[1].methods == ["latchkey.v1.EventService/*"])
  #expect(callers[0].san == "uri:spiffe://test/web" && callers[0].apiKeys.isEmpty && callers[0].mayFetchByEmail)
  #expect(callers[0].audiences == ["web", "old"] && callers[0].methods == ["*"])
  #expect(
    callers[2].apiKeys == [
      APIKeySettings(digest: Digest([UInt8](repeating: 0xab, count: 32)), name: "abababab"),
      APIKeySettings(
        digest: Digest([UInt8](repeating: 0xcd, count: 32)), notAfter: Timestamp(millis: 1_801_353_600_000),
        name: "winter"),
    ])
  #expect(!callers[2].mayFetchByEmail)
  #expect(callers[2].audiences == ["everybody"])
  #expect(
    callers[2].methods
      == ["latchkey.v1.AuthService/*", "latchkey.v1.AccountService/*", "latchkey.v1.SessionService/*",
        "latchkey.v1.ProviderFlowService/*", "latchkey.v1.SecondFactorService/*",
        "latchkey.v1.PasskeyService/*", "latchkey.v1.VerificationService/*"])
}

@Test func `unidentified callers never get administration, and get other rights only if allowed`() throws {
  let paths = ["/latchkey.v1.AuthService/SignIn", "/latchkey.v1.AdminService/Lookup"]
  let closed = try settings().callerTable(paths)
  #expect(throws: CallerRefusal.unidentified) {
    try closed.identify(certificateName: nil, authorization: [], now: Timestamp(millis: 0))
  }
  let open = try settings(
    "listen: { allow_unidentified: true }, unidentified: { fetch_by_email: true }, tokens: { audience: 'dev' }")
  let caller = try open.callerTable(paths).identify(certificateName: nil, authorization: [], now: Timestamp(millis: 0))
  #expect(caller.mayFetchByEmail && !caller.isIdentified && caller.audiences == ["dev"])
  #expect(paths.indices.map(caller.rights.include) == [true, false])
}

@Test func `private addresses are allowed for the hosts of configured providers only`() throws {
  let providers = """
    fetch: { allow_private_addresses: ALLOWED }, providers: [
      { id: "oidc.a", issuers: ["https://127.0.0.1:9444/corp"], client_ids: ["a"] },
      { id: "oidc.b", issuers: ["https://[::1]:9444/corp"], client_ids: ["a"], jwks_url: "https://Keys.example?x" },
    ],
    """
  let open = try settings(providers.replacing("ALLOWED", with: "true")).fetchSettings
  #expect(open.privateHosts == ["127.0.0.1", "::1", "keys.example"])
  #expect(try settings(providers.replacing("ALLOWED", with: "false")).fetchSettings.privateHosts == [])
  #expect(try settings().fetchSettings.caFile == nil)
}

// MARK: The list and the example

private let elements = [
  "callers[]", "callers[].api_keys[]", "providers[]", "custom_token_signers[]", "relying_parties[]", "hooks[]",
  "policy.require_second_factor[]",
]

private struct Listed {
  let path: String
  let standard: String
}

private func listed() throws -> [Listed] {
  try Settings.list().map { entry in
    let lines = entry.split(separator: "\n", omittingEmptySubsequences: false)
    try #require(lines.count == 2 && lines[1].hasPrefix("    ") && lines[1].count > 8, "\(entry) has no description")
    let parts = lines[0].split(separator: " = ", maxSplits: 1)
    try #require(parts.count == 2, "\(entry) has no default")
    return Listed(path: String(parts[0]), standard: String(parts[1]))
  }
}

@Test func `a file with all listed defaults changes nothing`() throws {
  let listed = try listed().filter { entry in !elements.contains(where: entry.path.hasPrefix) }
  #expect(listed.count > 50)
  var (spelled, usual) = (try settings(written(listed.filter { !$0.path.hasPrefix("tls.") })), try settings())
  #expect(spelled.effective == usual.effective)
  // The file itself differs, and the order of a dictionary's text is not fixed.
  (spelled.tree, usual.tree, spelled.effective, usual.effective) = (.nothing, .nothing, [:], [:])
  #expect("\(spelled)" == "\(usual)")
}

/// Settings in the format of a file, with nested groups.
private func written(_ entries: [Listed]) -> String {
  let groups = Dictionary(grouping: entries) { $0.path.contains(".") ? String($0.path.prefix { $0 != "." }) : "" }
  return groups.map { name, entries in
    guard !name.isEmpty else { return entries.map { "\($0.path): \($0.standard)," }.joined(separator: " ") }
    let inner = entries.map { Listed(path: String($0.path.dropFirst(name.count + 1)), standard: $0.standard) }
    return "\(name): { \(written(inner)) },"
  }.joined(separator: "\n")
}

@Test func `every setting outside of lists is overridden by its variable`() throws {
  // A value that no setting can have. Each setting rejects it or, if it is a text, accepts it.
  let odd = "\u{1}odd"
  let standard = "\(try settings())"
  for entry in try listed() where !elements.contains(where: entry.path.hasPrefix) {
    do {
      let changed = try settings(environment: [variable(entry.path): odd])
      #expect("\(changed)" != standard, "\(variable(entry.path)) changes nothing")
      // A list takes a text as its only element.
      #expect(["\"", "["].contains(entry.standard.prefix(1)), "\(entry.path) took a text")
    } catch {
      #expect(error.setting == entry.path)
    }
  }
}

@Test func `service variables of Kubernetes are ignored without a warning`() throws {
  let environment = [
    "LATCHKEY_METRICS_PORT": "tcp://10.0.0.1:9464", "LATCHKEY_METRICS_SERVICE_HOST": "10.0.0.1",
    "LATCHKEY_METRICS_SERVICE_PORT": "9464", "LATCHKEY_METRICS_SERVICE_PORT_HTTP": "9464",
    "LATCHKEY_METRICS_PORT_9464_TCP": "tcp://10.0.0.1:9464", "LATCHKEY_METRICS_PORT_9464_TCP_ADDR": "10.0.0.1",
    "LATCHKEY_METRICS_PORT_9464_TCP_PROTO": "tcp", "LATCHKEY_SERVICE_HOST": "10.0.0.2",
    "LATCHKEY_PORT": "tcp://10.0.0.2:8443", "LATCHKEY_LISTEN_PORT": "udp://10.0.0.3:53",
  ]
  let settings = try settings(environment: environment)
  #expect(settings.metricsPort == 9_464 && settings.listen.addresses[0].port == 8_443)
  #expect(settings.warnings == [])
}

@Test func `a variable without a setting causes a warning, unless it belongs to another program`() throws {
  let environment = [
    "LATCHKEY_LISTEN_PROT": "8443", "LATCHKEY_LISTN_PORT": "8443", "LATCHKEY_LISTEN_PORT": "8444",
    "LATCHKEY_TOKENS_AUDIENCE": "a", "LATCHKEY_SERVER": "localhost:8443", "LATCHKEY_HOME": "/tmp",
    "LATCHKEY_HOOK": "s", "LATCHKEY_TEST_STORE": "postgres",
  ]
  let hook = "webhook: { url: 'https://h.example', secret_env: 'LATCHKEY_HOOK' }"
  let settings = try settings("delivery: { text_messages: 'webhook', \(hook) }", environment: environment)
  #expect(settings.unknownVariables == ["LATCHKEY_LISTEN_PROT", "LATCHKEY_LISTN_PORT"])
  #expect(settings.warnings.count == 2 && settings.warnings[0].contains("LATCHKEY_LISTEN_PROT"))
  #expect(settings.listen.addresses[0].port == 8_444)
}

@Test func `a sign-in method whose messages have no transport is disabled`() throws {
  let policy = "policy: { phone: true, email_link: true }"
  let off = try settings(policy).policy
  #expect(!off.phoneEnabled && !off.emailLinkEnabled)
  let texts = try settings(policy + ", delivery: { text_messages: 'outbox' }").policy
  #expect(texts.phoneEnabled && !texts.emailLinkEnabled)
  let mail = try settings(policy + ", delivery: { mail: 'outbox' }").policy
  #expect(!mail.phoneEnabled && mail.emailLinkEnabled)
}

@Test func `the example parses, and contains every setting`() throws {
  let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  let bytes = try #require(FileManager.default.contents(atPath: root + "/deploy/latchkey.example.json5"))
  let settings = try Settings.parse(Array(bytes), folder: root + "/deploy", environment: [:])
  #expect(settings.keysURL == settings.issuer, "OpenID Connect Discovery requires this")
  let named = paths(of: try ConfigNode.parse(Array(bytes)))
  let known = Set(try listed().map(\.path))
  #expect(known.subtracting(named) == [], "not in the example")
  #expect(named.subtracting(known) == [], "not in the list")
}

@Test func `the development file parses once its keys are filled in`() throws {
  let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  let bytes = try #require(FileManager.default.contents(atPath: root + "/deploy/latchkey.development.json5"))
  let text = String(decoding: bytes, as: UTF8.self)
    .replacing("WEB_KEY_SHA256", with: String(repeating: "a", count: 64))
    .replacing("ADMIN_KEY_SHA256", with: String(repeating: "b", count: 64))
  let settings = try Settings.parse(Array(text.utf8), folder: root, environment: [:])
  #expect(settings.callers.map(\.name) == ["web", "admin"] && settings.allowUnidentified)
  #expect(settings.keysURL == settings.issuer, "OpenID Connect Discovery requires this")
}

/// The settings of a tree. Elements of a list of groups share one name.
private func paths(of node: ConfigNode, at prefix: String = "") -> Set<String> {
  switch node {
  case .object(let values):
    values.reduce(into: []) { $0.formUnion(paths(of: $1.value, at: prefix.isEmpty ? $1.key : "\(prefix).\($1.key)")) }
  case .list(let nodes) where elements.contains(prefix + "[]"):
    nodes.reduce(into: []) { $0.formUnion(paths(of: $1, at: prefix + "[]")) }
  default: [prefix]
  }
}
