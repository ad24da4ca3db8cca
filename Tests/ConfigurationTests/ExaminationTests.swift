import Glibc
import TestSupport
import Testing

@testable import Configuration

private func examine(_ text: String, _ environment: [String: String] = [:]) -> ExaminedSettings {
  Settings.examine(Array(text.utf8), folder: "/etc/latchkey", environment: environment)
}

@Test func `all faults of a file are reported together, each with its setting`() {
  let examined = examine(
    """
    {
      listen: { port: 'x', prot: 1, address: 'here' },
      log: { level: 'loud' },
      tokens: { issuer: '' },
      callers: [
        { name: 'web', san: 'web', redirect_uris: ['https://*.example.com/'] },
        { name: 'app', san: 'dns:app', merge: 1 },
        { api_keys: [{ sha256: 'abc' }], colour: 'red' },
        { name: 'old', api_key_sha256: 'abc' },
        7,
        { name: 'app', san: 'dns:app' },
      ],
      providers: [{ id: 'nobody.example' }, { id: 'google.com' }],
      metrics: [],
      nothing: 1,
    }
    """)
  #expect(
    Set(examined.faults.map(\.setting)) == [
      "listen.port", "listen.prot", "listen.address", "log.level", "tokens.issuer", "callers[0].san",
      "callers[0].redirect_uris", "callers[1].merge", "callers[2].name", "callers[2].api_keys[0].sha256",
      "callers[2].colour", "callers[3].api_key_sha256", "callers[4]", "callers[5].name", "callers[5].san",
      "providers[0].id", "providers[1].client_ids", "metrics", "nothing", "tls.certificate_file", "tls.key_file",
    ])
  #expect(examined.faults.count == Set(examined.faults.map(\.setting)).count, "each setting once")
}

@Test func `a file that is not JSON5 has one fault, and one without faults has none`() throws {
  #expect(examine("{ listen: ").faults.count == 1)
  let whole = examine("{ tls: { certificate_file: 'a', key_file: 'b' } }")
  #expect(whole.faults.isEmpty)
  #expect(whole.settings?.listen.addresses.map(\.port) == [8_443])
}

@Test func `a name that looks like a path is one unknown setting`() {
  let examined = examine("{ tls: { certificate_file: 'a', key_file: 'b' }, 'a[0].b': 1 }")
  #expect(examined.faults.map(\.setting) == ["a[0].b"])
}

@Test func `a wrong environment variable is reported together with the file's faults`() {
  let examined = examine(
    "{ tls: { certificate_file: 'a', key_file: 'b' }, log: { level: 'loud' } }",
    ["LATCHKEY_LISTEN_PORT": "x", "LATCHKEY_LOG_LEVEL": "louder"])
  #expect(examined.faults.map(\.setting) == ["listen.port", "log.level"])
}

@Test(arguments: ["LATCHKEY_KEYS", "LATCHKEY_LISTEN", "LATCHKEY_CALLERS", "LATCHKEY_STORE_POSTGRES", "LATCHKEY_COLOUR"])
func `a variable without a setting causes a warning, even if a group or a list has its name`(_ name: String) throws {
  let examined = examine("{ tls: { certificate_file: 'a', key_file: 'b' } }", [name: "/etc/keys"])
  #expect(examined.faults.isEmpty)
  #expect(examined.settings?.warnings.count { $0.contains("environment variable \(name) belongs") } == 1)
}

@Test(arguments: [
  ("callers: [{ name: 'web', san: 'dns:a', redirect_uris: ['*'] }]", "callers[0].redirect_uris"),
  ("callers: [{ name: 'web', san: 'dns:a', redirect_uris: ['https://a.example/*'] }]", "callers[0].redirect_uris"),
  ("callers: [{ name: 'web', san: 'dns:a', audiences: ['*'] }]", "callers[0].audiences"),
  ("unidentified: { redirect_uris: '*' }", "unidentified.redirect_uris"),
  ("providers: [{ id: 'google.com', client_ids: ['*'] }]", "providers[0].client_ids"),
  ("providers: [{ id: 'google.com', client_ids: ['a'], hosted_domains: ['*'] }]", "providers[0].hosted_domains"),
])
func `a star is rejected in settings that are compared byte for byte`(text: String, setting: String) {
  let faults = examine("{ tls: { certificate_file: 'a', key_file: 'b' }, \(text) }").faults
  #expect(faults.first?.setting == setting)
  #expect(faults.first?.why.contains("must match exactly") == true)
}

@Test func `a world-writable folder or file causes a warning with its setting`() async throws {
  try await withFolder { folder in
    let path = folder + "/latchkey.json5"
    let text = """
      {
        tls: { certificate_file: 'a', key_file: 'b' },
        store: { path: 'data/db', backup_folder: 'backups' },
        delivery: { mail: 'outbox', outbox_folder: 'outbox' },
      }
      """
    try write(text, to: path)
    for name in ["data", "backups", "outbox"] { unsafe mkdir(folder + "/" + name, 0o700) }
    func warned() -> [String] {
      (Settings.examine(path).settings?.warningsOfFiles() ?? []).filter { $0.hasSuffix("can be written by all users") }
    }
    #expect(warned().isEmpty)
    for (name, setting) in [
      ("", "--config"), ("latchkey.json5", "--config"), ("data", "store.path"), ("backups", "store.backup_folder"),
      ("outbox", "delivery.outbox_folder"),
    ] {
      let place = name.isEmpty ? folder : "\(folder)/\(name)"
      let mode: UInt32 = name == "latchkey.json5" ? 0o600 : 0o700
      unsafe chmod(place, mode | 0o002)
      #expect(warned() == ["\(setting): \(place) can be written by all users"])
      unsafe chmod(place, mode)
    }
  }
}
