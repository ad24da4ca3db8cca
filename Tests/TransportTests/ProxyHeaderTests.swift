import Testing

@testable import Transport

private let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

/// A header of version 2 with this command, family and content.
private func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil) -> [UInt8] {
  let length = length ?? rest.count
  return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + rest
}

private let ipv4: [UInt8] = [192, 0, 2, 7, 198, 51, 100, 1, 0x1F, 0x90, 0x01, 0xBB]
private let ipv6 = [UInt8]([0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [9])
  + [UInt8](repeating: 0, count: 20)

@Test(arguments: [
  ("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443", ProxyHeader.client(address: "192.0.2.7")),
  ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 0", .client(address: "255.255.255.255")),
  ("PROXY TCP6 2001:DB8:0:0::9 ::1 1 2", .client(address: "2001:db8::9")),
  ("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2", .client(address: "192.0.2.7")),
  ("PROXY UNKNOWN", .noClient), ("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535", .noClient),
])
func `version 1 has the address of the client, or none`(line: String, header: ProxyHeader) {
  let bytes = Array((line + "\r\n").utf8)
  #expect(ProxyHeader.parse(bytes) == .complete(header, bytes: bytes.count))
  #expect(ProxyHeader.parse(bytes + [0x16, 3, 1]) == .complete(header, bytes: bytes.count))
}

@Test(arguments: [
  ("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\n", .length), ("PROXY TCP4 192.0.2.7 198.51.100.1 8080\r\n", .address),
  ("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443 1\r\n", .address),
  ("PROXY TCP4  192.0.2.7 198.51.100.1 8080 443\r\n", .address),
  ("PROXY TCP4 192.0.2.7 198.51.100.1 65536 443\r\n", .address),
  ("PROXY TCP4 192.0.2.7 198.51.100.1 080 443\r\n", .address),
  ("PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n", .address), ("PROXY TCP4 ::1 ::1 1 2\r\n", .address),
  ("PROXY TCP6 192.0.2.7 ::1 1 2\r\n", .address), ("PROXY TCP4 192.0.2.7:1 198.51.100.1 1 2\r\n", .address),
  ("PROXY TCP6 [::1] ::1 1 2\r\n", .address), ("PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n", .address),
  ("PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n", .family), ("PROXY \r\n", .family), ("PROXY unknown\r\n", .family),
  ("PROXYTCP4", .missing), ("proxy TCP4", .missing), ("GET / HTTP/1.1\r\n", .missing), ("\u{16}\u{3}\u{1}", .missing),
  ("PROXY UNKNOWN " + String(repeating: "x", count: 93), .length),
] as [(String, ProxyHeader.Fault)])
func `version 1 that is malformed is rejected`(text: String, fault: ProxyHeader.Fault) {
  #expect(ProxyHeader.parse(Array(text.utf8)) == .invalid(fault))
}

@Test func `version 1 has at most 107 bytes`() {
  let longest = Array(("PROXY UNKNOWN " + String(repeating: "x", count: 91) + "\r\n").utf8)
  #expect(longest.count == 107)
  #expect(ProxyHeader.parse(longest) == .complete(.noClient, bytes: 107))
}

@Test(arguments: [
  (binary(0x21, 0x11, ipv4), ProxyHeader.client(address: "192.0.2.7")),
  (binary(0x21, 0x21, ipv6), .client(address: "2001:db8::9")),
  (binary(0x21, 0x11, ipv4 + [0x04, 0, 1, 0]), .client(address: "192.0.2.7")),
  (binary(0x21, 0x31, [UInt8](repeating: 0x2F, count: 216)), .noClient),
  (binary(0x21, 0x00, []), .noClient), (binary(0x20, 0x00, []), .noClient), (binary(0x20, 0x11, ipv4), .noClient),
  (binary(0x20, 0x7F, [1, 2, 3]), .noClient),
  (binary(0x21, 0x11, ipv4 + [UInt8](repeating: 0, count: 2_036)), .client(address: "192.0.2.7")),
])
func `version 2 has the address of the client, or none`(bytes: [UInt8], header: ProxyHeader) {
  #expect(ProxyHeader.parse(bytes) == .complete(header, bytes: bytes.count))
  #expect(ProxyHeader.parse(bytes + [0x16]) == .complete(header, bytes: bytes.count))
}

@Test(arguments: [
  (binary(0x11, 0x11, ipv4), .version), (binary(0x31, 0x11, ipv4), .version), (binary(0x22, 0x11, ipv4), .command),
  (binary(0x21, 0x12, ipv4), .family), (binary(0x21, 0x22, ipv6), .family), (binary(0x21, 0x01, ipv4), .family),
  (binary(0x21, 0x41, ipv4), .family), (binary(0x21, 0x11, Array(ipv4.dropLast())), .length),
  (binary(0x21, 0x21, Array(ipv6.dropLast())), .length),
  (binary(0x21, 0x31, [UInt8](repeating: 0, count: 215)), .length),
  (binary(0x21, 0x11, [], length: 2_049), .length), (binary(0x20, 0x00, [], length: 65_535), .length),
  (Array(signature.dropLast()) + [0x0B], .missing),
] as [([UInt8], ProxyHeader.Fault)])
func `version 2 that is malformed is rejected, before its content arrives`(bytes: [UInt8], fault: ProxyHeader.Fault) {
  #expect(ProxyHeader.parse(bytes) == .invalid(fault))
}

@Test(arguments: [
  Array("PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n".utf8), Array("PROXY UNKNOWN\r\n".utf8),
  binary(0x21, 0x11, ipv4), binary(0x21, 0x21, ipv6 + [4, 0, 0]), binary(0x20, 0x00, []),
])
func `a header in parts is read to its end, and never past it`(header: [UInt8]) {
  let stream = header + [0x16, 0x03, 0x01]
  for step in [1, 2, 7, 1_000] {
    var bytes: [UInt8] = []
    reading: while true {
      switch ProxyHeader.parse(bytes) {
      case .incomplete(let bytesMax):
        #expect(bytesMax > 0)
        bytes += stream[bytes.count..<min(stream.count, bytes.count + min(step, bytesMax))]
      case .complete(_, let count):
        #expect(bytes == header && count == header.count)
        break reading
      case .invalid(let fault):
        Issue.record("\(fault)")
        break reading
      }
    }
  }
}
