import Identity
import Store
import Testing

@testable import Configuration

/// `policy.require_second_factor` with this text as its list, next to two callers.
private func rules(_ list: String) throws(ConfigurationError) -> [SecondFactorRule] {
  let callers = "[{ name: 'web', san: 'uri:spiffe://test/web' }, { name: 'console', san: 'uri:spiffe://test/console' }]"
  return try settings(
    "tls: { client_certificates: 'optional', client_ca_file: 'ca.pem' }, callers: \(callers), "
      + "policy: { require_second_factor: \(list) }"
  ).policy.secondFactorRules
}

/// Whether the claims of a rule match a JSON object.
private func matches(_ claims: [String], _ json: String) throws -> Bool {
  let quoted = claims.map { "'\($0)'" }.joined(separator: ", ")
  let rule = try #require(try rules("[{ since: '2026-12-01', claims: [\(quoted)] }]").first)
  return try #require(rule.claims).matches(json)
}

@Test func `no session needs a second factor unless a rule is configured`() throws {
  #expect(try settings().policy.secondFactorRules.isEmpty)
  #expect(try rules("[]").isEmpty)
}

@Test func `a rule has defaults for all but its day`() throws {
  let rule = try #require(try rules("[{ since: '2026-12-01' }]").first)
  #expect(rule.callers.isEmpty && rule.claims == nil && rule.graceMillis == 14 * 86_400_000)
  #expect(rule.since == Timestamp(millis: 1_796_083_200_000))
}

@Test func `all settings of all rules are read`() throws {
  let read = try rules(
    "[{ callers: ['console', 'unidentified'], since: '2024-02-29', grace_days: 0 }, "
      + "{ claims: ['role=admin'], since: '1970-01-01', grace_days: 365 }]")
  #expect(read.count == 2)
  #expect(read[0].callers == [CallerName("console"), CallerName("unidentified")] && read[0].claims == nil)
  #expect(read[0].graceMillis == 0 && read[0].since == Timestamp(millis: 1_709_164_800_000))
  #expect(read[1].callers.isEmpty && read[1].claims != nil && read[1].graceMillis == 365 * 86_400_000)
  #expect(read[1].since == Timestamp(millis: 0))
}

@Test(arguments: [
  ("[{}]", "[0].since"),
  ("[{ since: '' }]", "[0].since"),
  ("[{ since: '2026-02-29' }]", "[0].since"),
  ("[{ since: '2026-12-1' }]", "[0].since"),
  ("[{ since: '2026-12-01T00:00:00Z' }]", "[0].since"),
  ("[{ since: 20261201 }]", "[0].since"),
  ("[{ since: '2026-12-01', grace_days: -1 }]", "[0].grace_days"),
  ("[{ since: '2026-12-01', grace_days: 366 }]", "[0].grace_days"),
  ("[{ since: '2026-12-01', grace_days: '14' }]", "[0].grace_days"),
  ("[{ since: '2026-12-01', claims: ['admin'] }]", "[0].claims"),
  ("[{ since: '2026-12-01', claims: ['=admin'] }]", "[0].claims"),
  ("[{ since: '2026-12-01', claims: { role: 'admin' } }]", "[0].claims"),
  ("[{ since: '2026-12-01' }, { since: '2026-12-01', callers: ['shop'] }]", "[1].callers"),
  ("[{ since: '2026-12-01', callers: ['*'] }]", "[0].callers"),
  ("[{ since: '2026-12-01', caller: 'web' }]", "[0].caller"),
  ("{ since: '2026-12-01' }", ""),
  ("true", ""),
])
func `an invalid rule is rejected by the path of its setting`(list: String, path: String) throws {
  let fault = #expect(throws: ConfigurationError.self) { try rules(list) }
  #expect(fault?.setting == "policy.require_second_factor" + path)
}

@Test func `a claim matches by its text, also in a list, and not by a part of it`() throws {
  #expect(try matches(["role=admin"], "{\"role\":\"admin\"}"))
  #expect(try matches(["role=admin"], "{\"role\":[\"user\",\"admin\"]}"))
  #expect(try matches(["staff=true", "level=3"], "{\"staff\":true}"))
  #expect(try matches(["staff=true", "level=3"], "{\"level\":3}"))
  #expect(try matches(["path=a=b"], "{\"path\":\"a=b\"}"))
  #expect(try matches(["note="], "{\"note\":\"\"}"))
  for json in [
    "", "{}", "{\"role\":\"administrator\"}", "{\"role\":\"Admin\"}", "{\"Role\":\"admin\"}", "{\"role\":null}",
    "{\"role\":{\"admin\":true}}", "{\"roles\":\"admin\"}", "{\"other\":{\"role\":\"admin\"}}", "[\"admin\"]", "admin",
    "{\"role\":\"admin\"", "{\"role\":1.5}",
  ] {
    #expect(try !matches(["role=admin"], json), "\(json)")
  }
}

@Test(arguments: ["tokens: { audience: 'a/second-factor-enrollment' }", """
  callers: [{ name: 'web', api_key_sha256: '\(String(repeating: "a", count: 64))',
  audiences: ['app', 'app/second-factor-enrollment'] }]
  """])
func `no audience ends as that of restricted sessions`(text: String) throws {
  let fault = #expect(throws: ConfigurationError.self) { try settings(text) }
  #expect(fault?.setting == (text.hasPrefix("tokens") ? "tokens.audience" : "callers[0].audiences"))
}

@Test func `an error in a caller is reported once, not again by the rules that name it`() {
  let text = """
    { tls: { certificate_file: 'a', key_file: 'b' }, callers: [7],
      policy: { require_second_factor: [{ callers: ['web'], since: '2026-12-01' }] } }
    """
  let examined = Settings.examine(Array(text.utf8), folder: "/etc/latchkey", environment: [:])
  #expect(examined.faults.map(\.setting) == ["callers[0]"])
}

@Test func `each wrong rule is reported at its place in the file`() {
  let text = """
    { tls: { certificate_file: 'a', key_file: 'b' },
      policy: { require_second_factor: [
        7, { since: '2026-12-01', callers: ['web'] }, { since: '2026-12-01', claims: ['a'] },
      ] } }
    """
  let examined = Settings.examine(Array(text.utf8), folder: "/etc/latchkey", environment: [:])
  let list = "policy.require_second_factor"
  #expect(Set(examined.faults.map(\.setting)) == ["\(list)[0]", "\(list)[1].callers", "\(list)[2].claims"])
}
