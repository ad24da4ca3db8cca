import Callers
import Text
import Transport

extension FuzzTarget {
  /// The bytes before a TLS handshake. A header is complete at the same byte however it is split, and has a canonical
  /// address.
  static let proxyHeader = FuzzTarget("proxy_header", seeds: proxyHeaderSeeds) { input in
    let whole = ProxyHeader.parse(input)
    var bytes: [UInt8] = []
    while case .incomplete(let bytesMax) = ProxyHeader.parse(bytes), bytes.count < input.count {
      law(1...2_064 ~= bytesMax, "a read of \(bytesMax) bytes")
      bytes += input[bytes.count..<min(input.count, bytes.count + bytesMax)]
    }
    let inParts = ProxyHeader.parse(bytes)
    switch (inParts, whole) {
    case (.complete(let header, let count), .complete(let other, let length)):
      law(count == bytes.count && count == length && header == other, "another header in parts")
      if case .client(let address) = header { law(IPAddress(address)?.text == address, "\(address) is not canonical") }
    case (.incomplete, .incomplete): break
    case (.invalid, .invalid): break
    default: law(false, "\(inParts) in parts, \(whole) as a whole")
    }
  }

  /// `x-forwarded-client-cert`. A name has a type, and the elements before the last one do not matter.
  static let forwarded = FuzzTarget("forwarded", seeds: forwardedSeeds) { input in
    guard let name = try? ForwardedCertificate.name(input) else { return }
    law(name.isEmpty || name.hasPrefix("uri:") || name.hasPrefix("dns:"), "\(name) has no type")
    law(name.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "an invisible character")
    let later = try? ForwardedCertificate.name(Array("URI=spiffe://other,".utf8) + input)
    law(input.isEmpty || later == name, "another element counts")
  }

  private static var proxyHeaderSeeds: [Seed] {
    let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    let ipv4: [UInt8] = [192, 0, 2, 7, 198, 51, 100, 1, 31, 144, 1, 187]
    return [
      Seed("tcp4", "PROXY TCP4 192.0.2.7 198.51.100.1 8080 443\r\n"),
      Seed("tcp6", "PROXY TCP6 2001:db8::9 ::1 8080 443\r\n\u{16}\u{3}\u{1}"), Seed("unknown", "PROXY UNKNOWN\r\n"),
      Seed("binary4", signature + [0x21, 0x11, 0, 12] + ipv4), Seed("local", signature + [0x20, 0, 0, 0]),
      Seed("values", signature + [0x21, 0x11, 0, 16] + ipv4 + [4, 0, 1, 0]),
      Seed("binary6", signature + [0x21, 0x21, 0, 36] + [UInt8](repeating: 1, count: 36)),
      Seed("unix", signature + [0x21, 0x31, 0, 216] + [UInt8](repeating: 47, count: 216)),
    ]
  }

  private static var forwardedSeeds: [Seed] {
    let hash = String(repeating: "ab", count: 32)
    return [
      Seed("envoy", "By=spiffe://a;Hash=\(hash);Subject=\"CN=a, O=\\\"b\\\"\";URI=spiffe://test/web"),
      Seed("two", "Hash=\(hash);URI=spiffe://a,Hash=\(hash);DNS=b.example"), Seed("hash", "Hash=\(hash)"),
    ]
  }
}
