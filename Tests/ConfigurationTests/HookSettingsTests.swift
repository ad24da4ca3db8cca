import Identity
import Testing

@testable import Configuration

/// `hooks` with one element that has these settings, next to a caller.
private func hooks(_ settings: String, and more: String = "") -> String {
  "tls: { client_certificates: 'optional', client_ca_file: 'ca.pem' }, "
    + "callers: [{ name: 'web', san: 'uri:spiffe://test/web' }], hooks: [{ \(settings) }\(more)]"
}

private let address = "name: 'rules', endpoint: 'https://h.example'"

@Test func `a hook has defaults for all but its name and address`() throws {
  let hook = try #require(try settings(hooks(address)).hooks.first)
  #expect(hook.address == ServerAddress(host: "h.example", port: 443, isPlain: false))
  #expect(hook.timeoutMillis == 3_000 && hook.concurrentMax == 64 && hook.onFailure == .deny)
  #expect(hook.events == HookEvent.allCases && hook.callers == [])
  #expect(try settings().hooks == [])
}

@Test func `all settings of a hook are read, and relative files are below the folder`() throws {
  let text = address + """
    , ca_file: 'ca.pem', certificate_file: '/c.pem', key_file: '/c.key', timeout_millis: 10, concurrent_max: 1,
    on_failure: 'allow', events: ['before_send'], callers: ['web', 'unidentified']
    """
  let read = try settings(hooks(text))
  let hook = try #require(read.hooks.first)
  #expect(hook.authorityFile.hasSuffix("/ca.pem") && hook.certificateFile == "/c.pem" && hook.keyFile == "/c.key")
  #expect(hook.timeoutMillis == 10 && hook.concurrentMax == 1 && hook.onFailure == .allow)
  #expect(hook.events == [.beforeSend] && hook.callers == ["web", "unidentified"])
  #expect(read.filesOfHooks.map(\.setting) == [
    "hooks[rules].ca_file", "hooks[rules].certificate_file", "hooks[rules].key_file",
  ])
}

@Test(arguments: [
  ("endpoint: 'https://h.example'", "hooks[0].name"),
  ("name: 'No Spaces', endpoint: 'https://h.example'", "hooks[0].name"),
  ("name: '\(String(repeating: "a", count: 33))', endpoint: 'https://h.example'", "hooks[0].name"),
  ("name: 'rules'", "hooks[0].endpoint"),
  ("name: 'rules', endpoint: 'http://h.example'", "hooks[0].endpoint"),
  ("\(address), certificate_file: 'c.pem'", "hooks[0].certificate_file"),
  ("\(address), key_file: 'c.key'", "hooks[0].key_file"),
  ("\(address), timeout_millis: 9", "hooks[0].timeout_millis"),
  ("\(address), timeout_millis: 10001", "hooks[0].timeout_millis"),
  ("\(address), concurrent_max: 0", "hooks[0].concurrent_max"),
  ("\(address), concurrent_max: 1001", "hooks[0].concurrent_max"),
  ("\(address), on_failure: 'maybe'", "hooks[0].on_failure"),
  ("\(address), events: ['before_refresh']", "hooks[0].events"),
  ("\(address), events: []", "hooks[0].events"),
  ("\(address), callers: ['shop']", "hooks[0].callers"),
  ("\(address), timeout: 1", "hooks[0].timeout"),
])
func `an invalid hook is rejected by the path of its setting`(text: String, path: String) throws {
  let fault = #expect(throws: ConfigurationError.self) { try settings(hooks(text)) }
  #expect(fault?.setting == path)
}

@Test func `the names of hooks differ`() throws {
  let fault = #expect(throws: ConfigurationError.self) { try settings(hooks(address, and: ", { \(address) }")) }
  #expect(fault?.setting == "hooks[1].name")
}

@Test func `the fault of a hook has the hook's place in the file, also behind an unusable hook`() {
  let other = ", { name: 'other', endpoint: 'https://h.example', callers: ['shop'] }"
  func faults(_ text: String) -> Set<String> {
    Set(
      Settings.examine(Array("{ \(text) }".utf8), folder: "/etc/latchkey", environment: [:]).faults.map(\.setting))
  }
  #expect(faults(hooks("name: ''", and: other)).isSuperset(of: ["hooks[0].name", "hooks[1].callers"]))
  // An unusable caller may be the one that the hook names.
  let callers = hooks(address, and: other).replacing("callers: [{ name", with: "callers: [7, { name")
  #expect(faults(callers).intersection(["callers[0]", "hooks[1].callers"]) == ["callers[0]"])
}

@Test(arguments: [("timeout_millis", 10_000), ("concurrent_max", 1_000)])
func `the upper end of each range is accepted`(name: String, value: Int) throws {
  #expect(throws: Never.self) { try settings(hooks("\(address), \(name): \(value)")) }
}
