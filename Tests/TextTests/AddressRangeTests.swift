import Testing

@testable import Text

@Test(arguments: [
  ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], ["11.0.0.0", "9.255.255.255", "::1"]),
  ("192.0.2.7", ["192.0.2.7"], ["192.0.2.6", "192.0.2.8"]), ("192.0.2.8/31", ["192.0.2.9"], ["192.0.2.10"]),
  ("0.0.0.0/0", ["1.2.3.4"], ["::1"]), ("::/0", ["::1", "2001:db8::1"], ["1.2.3.4"]),
  ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::1"]), ("::1", ["::1"], ["::2"]),
])
func `a range contains the addresses with its prefix`(range: String, inside: [String], outside: [String]) throws {
  let range = try #require(AddressRange(range))
  for address in inside { #expect(range.contains(try #require(IPAddress(address))), "\(address)") }
  for address in outside { #expect(!range.contains(try #require(IPAddress(address))), "\(address)") }
}

@Test(arguments: [
  "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "10.0.0.1/8", "::/129",
  "2001:db8::1/64", "[::1]", "[::1]/128", "10.0.0.0:80", "10.0.0.0:80/8", "fe80::1%eth0", " 10.0.0.0/8", "host",
  "10.0.0/8",
])
func `a text that is not a range is rejected`(text: String) { #expect(AddressRange(text) == nil) }

@Test func `an address has bytes in network order`() {
  for text in ["192.0.2.7", "2001:db8::9", "::", "::ffff:0:1"] {
    #expect(IPAddress(text).flatMap { IPAddress(bytes: $0.bytes) }?.text == IPAddress(text)?.text)
  }
  #expect(IPAddress(bytes: [1, 2, 3]) == nil && IPAddress(bytes: []) == nil)
}
