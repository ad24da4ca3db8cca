import Testing

@testable import Configuration

private typealias Collector = ServerAddress

@Test func `the collector is an https URL, or an http URL of this machine`() throws {
  let accepted: [(String, Collector)] = [
    ("https://c.example", Collector(host: "c.example", port: 4_317, isPlain: false)),
    ("https://c.example:443/", Collector(host: "c.example", port: 443, isPlain: false)),
    ("http://127.0.0.1:4317", Collector(host: "127.0.0.1", port: 4_317, isPlain: true)),
    ("http://[::1]:99", Collector(host: "::1", port: 99, isPlain: true)),
    ("http://localhost", Collector(host: "localhost", port: 4_317, isPlain: true)),
    ("https://[2001:db8::1]", Collector(host: "2001:db8::1", port: 4_317, isPlain: false)),
  ]
  for (text, collector) in accepted {
    #expect(try ServerAddress.parse(text, usualPort: 4_317).get() == collector, "\(text)")
  }
}

@Test(arguments: [
  "c.example:4317", "grpc://c.example", "https://", "https://:4317", "https://c.example:0", "https://c.example:65536",
  "https://c.example/v1/traces", "https://user@c.example", "http://c.example", "http://127.0.0.1.example:4317",
])
func `another collector is rejected`(text: String) {
  #expect(throws: ServerAddress.Fault.self) { try ServerAddress.parse(text, usualPort: 4_317).get() }
}
