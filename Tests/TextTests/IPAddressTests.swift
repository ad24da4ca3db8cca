import Testing
import Text

/// `client.ip_address` as callers send it, and its normal form; nil: the address is rejected.
private let spellings: [(String, String?)] = [
  ("203.0.113.77", "203.0.113.77"), ("203.0.113.77:51514", "203.0.113.77"), ("[2001:db8::7]:443", "2001:db8::7"),
  ("[2001:db8::7]", "2001:db8::7"), (" 203.0.113.77 ", "203.0.113.77"), ("::ffff:203.0.113.77", "203.0.113.77"),
  ("198.51.100.1, 203.0.113.77", nil), ("unknown", nil), ("203.0.113.077", nil),
  // Other whitespace, and only whitespace.
  ("\t203.0.113.77\r\n", "203.0.113.77"), ("\u{A0}2001:db8::7", "2001:db8::7"), ("203.0. 113.77", nil), ("", nil),
  (" ", nil), ("\u{200B}203.0.113.77", nil), ("\u{FEFF}203.0.113.77", nil),
  // Different spellings of one address.
  ("2001:0DB8:0:0::0007", "2001:db8::7"), ("::FFFF:cb00:714d", "203.0.113.77"), ("[::ffff:203.0.113.77]:80",
  "203.0.113.77"),
  ("0:0:0:0:0:ffff:cb00:714d", "203.0.113.77"), ("::ffff:203.0.113.77:80", "203.0.113.77"), ("::", "::"), ("::1",
  "::1"),
  ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
  ("2001:db8::192.0.2.1", "2001:db8::c000:201"),
  // A zone names a network interface of the caller.
  ("fe80::1%eth0", "fe80::1"), ("[fe80::1%25eth0.100]:443", "fe80::1"), ("fe80::1%", nil), ("203.0.113.77%eth0", nil),
  ("fe80::1%eth 0", nil), ("fe80::1%a]:1", nil),
  // Ports.
  ("203.0.113.77:", nil), ("203.0.113.77:0", nil), ("203.0.113.77:65535", "203.0.113.77"), ("203.0.113.77:65536", nil),
  ("203.0.113.77:080", nil), ("203.0.113.77:http", nil), ("203.0.113.77:80:80", nil), ("[2001:db8::7]:", nil),
  ("[2001:db8::7]443", nil), ("[2001:db8::7]:0", nil), ("::ffff:203.0.113.77:0", nil), ("203.0.113.77:+80", nil),
  // Brackets.
  ("[203.0.113.77]", nil), ("[203.0.113.77]:80", nil), ("[2001:db8::7", nil), ("2001:db8::7]", nil), ("[]", nil),
  ("[[::1]]", nil), ("\"[2001:db8::7]\"", nil),
  // Not addresses.
  ("203.0.113.77.", nil), ("203.0.113", nil), ("203.0.113.256", nil), ("203.0.113.77/32", nil), ("2001:db8::/32", nil),
  ("3405803853", nil), ("0xcb.0.113.77", nil), ("٢٠٣.0.113.77", nil), ("２０３.0.113.77", nil), ("+203.0.113.77", nil),
  ("-1.0.0.0", nil), ("/run/app.sock", nil), ("unix:/run/app.sock", nil), ("localhost", nil), ("localhost:80", nil),
  ("example.com", nil), ("203.0.113.77;x", nil), ("for=203.0.113.77", nil), ("1.2.3.4::", nil), ("1::2::3", nil),
  (":1:2:3:4:5:6:7", nil), ("12345::", nil), ("::+1", nil), ("::-1", nil), ("1:2:3:4:5:6:7:8:9", nil), (":::", nil),
  ("1:2:3:4:5:6:7:8::", nil), ("203.0.113.77\u{301}", nil), ("203。0。113。77", nil), (":80", nil), ("g::1", nil),
]

@Test(arguments: spellings)
func `an address has one canonical spelling, or is rejected`(text: String, expected: String?) {
  #expect(IPAddress(text)?.text == expected)
}

@Test func `the canonical spelling of an address is an address`() {
  for text in spellings.compactMap(\.1) { #expect(IPAddress(text)?.text == text) }
}

@Test func `text that is longer than any address is rejected`() {
  let blanks = String(repeating: " ", count: IPAddress.textBytesMax - 7)
  #expect(IPAddress("1.2.3.4" + blanks)?.text == "1.2.3.4")
  #expect(IPAddress("1.2.3.4" + blanks + " ") == nil)
}

@Test(arguments: ["203.0.113.77:51514", "203.0.113.77:51515", "::ffff:203.0.113.77", " 203.0.113.77"])
func `check 104: another port or spelling is the same network`(text: String) {
  #expect(Network(text)?.text == "203.0.113.77")
}
