import Testing
import Text

@Suite struct NetworkTests {
  @Test(arguments: [
    "2001:db8:0:1::1", "2001:DB8:0000:0001:ffff:ffff:ffff:ffff", "2001:db8:0:1:0:0:192.0.2.1", "2001:db8:0:1::%eth0",
    "2001:db8:0:1::",
  ])
  func `check 104: the addresses of one /64 network count as one, in any spelling`(_ address: String) {
    #expect(Network(address)?.text == "2001:db8:0:1::/64")
  }

  @Test(arguments: [
    ("2001:db8:0:2::1", "2001:db8:0:2::/64"), ("::1", "0:0:0:0::/64"), ("192.0.2.1", "192.0.2.1"),
    ("::ffff:192.0.2.1", "192.0.2.1"), ("::ffff:c000:201", "192.0.2.1"), ("192.0.2.2", "192.0.2.2"),
  ])
  func `other networks differ, and an IPv4 address equals its IPv6 form`(_ address: String, _ text: String) {
    #expect(Network(address)?.text == text)
  }

  @Test func `an IPv6 address counts for its /64, /56 and /48, each with room for more hosts`() {
    func counting(_ address: String) -> [String] { Network.counting(address).map { "\($0.network.text) \($0.share)" } }
    #expect(
      counting("2001:db8:1:2345::1")
        == ["2001:db8:1:2345::/64 1", "2001:db8:1:2300::/56 4", "2001:db8:1:0::/48 16"])
    #expect(counting("2001:db8:1:23ff::1").last == "2001:db8:1:0::/48 16")
    #expect(counting("192.0.2.1") == ["192.0.2.1 1"] && counting("unknown") == ["unknown 1"] && counting("") == [])
  }

  @Test(arguments: [
    ("", nil), ("unknown", "unknown"), ("1:2:3", "1:2:3"), ("1::2::3", "1::2::3"), (":1:2:3:4:5:6:7", ":1:2:3:4:5:6:7"),
    ("12345::", "12345::"), ("::1.2.3", "::1.2.3"), ("1:2:3:4:5:6:7::8:9", "1:2:3:4:5:6:7::8:9"),
  ] as [(String, String?)])
  func `a missing address has no network, and invalid text counts as itself`(_ address: String, _ text: String?) {
    #expect(Network(address)?.text == text)
  }
}
