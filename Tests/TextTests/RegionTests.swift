import Testing

@testable import Text

@Test(arguments: [
  ("192.0.2.77", "192.0.2.0/24"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"), ("::ffff:192.0.2.77", "192.0.2.0/24"),
  ("2001:db8::1", "2001:db8:0::/48"), ("", ""), ("no address", ""),
])
func `the region of an address does not name the client`(address: String, region: String) {
  #expect(Network.region(address) == region)
}
