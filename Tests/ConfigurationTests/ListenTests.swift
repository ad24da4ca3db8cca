import Testing

@testable import Configuration

@Test(arguments: [
  ("'0.0.0.0'", ["0.0.0.0 8443"]), ("['127.0.0.1', '::1']", ["127.0.0.1 8443", "::1 8443"]),
  ("['127.0.0.1:0', '[::1]:9443', '::1']", ["127.0.0.1 0", "::1 9443", "::1 8443"]),
] as [(String, [String])])
func `the server listens on one or several addresses, each with its port or the common one`(
  address: String, places: [String]
) throws {
  let listen = try settings("listen: { address: \(address) }").listen
  #expect(listen.addresses.map { "\($0.address) \($0.port)" } == places)
}

@Test(arguments: [
  ("'::'", false), ("['::', '0.0.0.0']", true), ("['0.0.0.0', '::']", true), ("['0.0.0.0:1', '::']", false),
  ("['127.0.0.1', '::']", true), ("['::1', '::']", false),
])
func `the IPv6 addresses leave IPv4 to an IPv4 address with the same port`(address: String, expected: Bool) throws {
  let listen = try settings("listen: { address: \(address) }").listen
  #expect(listen.hasIPv4(onPort: 8_443) == expected)
  #expect(try !settings("listen: { address: \(address), port: 0 }").listen.hasIPv4(onPort: 0))
}

@Test(arguments: [
  "address: 'localhost'", "address: []", "address: ['127.0.0.1', 'x']", "address: '127.0.0.1:'",
  "address: '127.0.0.1:65536'", "address: '[127.0.0.1]:1'", "address: '::1]:1'", "address: ['::1', '[::1]:8443']",
  "proxy_protocol_networks: ['10.0.0.1/8']", "proxy_protocol_networks: ['proxy']", "systemd: 'yes'",
  "allow_unidentified: true, systemd: true", "allow_unidentified: true, address: ['127.0.0.1', '0.0.0.0']",
])
func `a wrong listener is rejected`(text: String) {
  let setting = refusal { try settings("listen: { \(text) }") }?.setting
  #expect(setting?.hasPrefix("listen.") == true)
}

@Test func `trusted proxies need certificates, and names that no caller has`() throws {
  let tls = "tls: { client_certificates: 'optional', client_ca_file: 'ca' }"
  let caller = "callers: [{ name: 'a', san: 'dns:a' }]"
  #expect(try settings("\(tls), trusted_proxies: ['dns:Proxy', 'uri:spiffe://p']").trustedProxies == [
    "dns:proxy", "uri:spiffe://p",
  ])
  for text in [
    "trusted_proxies: ['dns:p']", "\(tls), trusted_proxies: ['p']", "\(tls), trusted_proxies: ['']",
    "\(tls), \(caller), trusted_proxies: ['dns:A']",
  ] {
    #expect(refusal { try settings(text) }?.setting == "trusted_proxies")
  }
}

@Test func `passed sockets are those of this process, with their names`() {
  func names(_ environment: [String: String]) -> [String] {
    PassedSocket.all(environment, processID: 7).map { "\($0.name) \($0.descriptor)" }
  }
  let usual = ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "grpc:metrics"]
  #expect(names(usual) == ["grpc 3", "metrics 4"])
  #expect(names(["LISTEN_PID": "7", "LISTEN_FDS": "1"]) == [" 3"])
  #expect(names([:]) == [])
  for (name, value) in [
    ("LISTEN_PID", "8"), ("LISTEN_PID", ""), ("LISTEN_FDS", "0"), ("LISTEN_FDS", "-1"), ("LISTEN_FDS", "x"),
    ("LISTEN_FDS", "100000"),
  ] {
    #expect(names(usual.merging([name: value]) { $1 }) == [])
  }
}
