internal import Text

/// The header of the PROXY protocol, version 1 or 2, which a TCP proxy sends before the bytes of its client
/// (haproxy.org/download/2.8/doc/proxy-protocol.txt).
package enum ProxyHeader: Hashable, Sendable {
  /// The IP address of the proxy's client, in canonical form.
  case client(address: String)
  /// The proxy connected on its own behalf (LOCAL), or its client has no IP address (UNKNOWN, UNSPEC, UNIX).
  case noClient

  package enum Fault: String, Sendable {
    case missing, version, command, family, length, address
  }

  package enum Progress: Hashable, Sendable {
    /// The header continues. The next read may take this many bytes without taking a byte that follows the header.
    case incomplete(bytesMax: Int)
    /// The header is complete. `bytes` is its length.
    case complete(ProxyHeader, bytes: Int)
    case invalid(Fault)
  }

  /// Maximum length of version 1, with its line end.
  private static let lineBytesMax = 107
  /// Maximum length of version 2 after its first 16 bytes: addresses and further values.
  private static let restBytesMax = 2_048
  /// The shortest header: `PROXY UNKNOWN` with its line end. Version 2 has at least one byte more.
  private static let bytesMin = 15

  private static let word = Array("PROXY ".utf8)
  private static let signature: [UInt8] = [
    0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
  ]

  /// Reads the header at the start of `bytes`.
  package static func parse(_ bytes: [UInt8]) -> Progress {
    if bytes.isEmpty { return .incomplete(bytesMax: bytesMin) }
    if startsAlike(bytes, word) { return parseLine(bytes) }
    if startsAlike(bytes, signature) { return parseBinary(bytes) }
    return .invalid(.missing)
  }

  private static func startsAlike(_ bytes: [UInt8], _ start: [UInt8]) -> Bool {
    zip(bytes, start).allSatisfy { $0 == $1 }
  }

  // MARK: Version 1

  private static func parseLine(_ bytes: [UInt8]) -> Progress {
    let (carriageReturn, lineFeed) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    guard let end = bytes.prefix(lineBytesMax).firstIndex(of: lineFeed) else {
      if bytes.count >= lineBytesMax { return .invalid(.length) }
      let rest = bytes.last == carriageReturn ? 1 : 2
      return .incomplete(bytesMax: min(max(bytesMin - bytes.count, rest), lineBytesMax - bytes.count))
    }
    guard end > 0, bytes[end - 1] == carriageReturn else { return .invalid(.length) }
    let fields = bytes[word.count..<max(word.count, end - 1)]
      .split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard let family = fields.first else { return .invalid(.family) }
    switch family {
    case "UNKNOWN": return .complete(.noClient, bytes: end + 1)
    case "TCP4", "TCP6":
      guard fields.count == 5, fields[3...].allSatisfy(isPort),
        let client = address(fields[1], family), address(fields[2], family) != nil
      else { return .invalid(.address) }
      return .complete(.client(address: client.text), bytes: end + 1)
    default: return .invalid(.family)
    }
  }

  private static func address(_ text: String, _ family: String) -> IPAddress? {
    guard text.contains(":") == (family == "TCP6"), let address = IPAddress(text), address.isLiteral(text) else {
      return nil
    }
    return address
  }

  private static func isPort(_ text: String) -> Bool { UInt16(text).map { String($0) == text } ?? false }

  // MARK: Version 2

  private static func parseBinary(_ bytes: [UInt8]) -> Progress {
    let headBytes = 16
    guard bytes.count >= headBytes else { return .incomplete(bytesMax: headBytes - bytes.count) }
    guard bytes[12] >> 4 == 2 else { return .invalid(.version) }
    let (command, family, rest) = (bytes[12] & 0x0F, bytes[13], Int(bytes[14]) << 8 | Int(bytes[15]))
    guard command <= 1 else { return .invalid(.command) }
    guard rest <= restBytesMax else { return .invalid(.length) }
    // For LOCAL, the sender may leave any family and addresses there.
    let addressBytes: Int
    switch (command, family) {
    case (0, _), (_, 0x00): addressBytes = 0
    case (_, 0x11): addressBytes = 4
    case (_, 0x21): addressBytes = 16
    case (_, 0x31): addressBytes = 108
    default: return .invalid(.family)
    }
    // Both addresses, and both ports of an IP family.
    guard rest >= 2 * addressBytes + ([4, 16].contains(addressBytes) ? 4 : 0) else { return .invalid(.length) }
    guard bytes.count >= headBytes + rest else { return .incomplete(bytesMax: headBytes + rest - bytes.count) }
    let client = IPAddress(bytes: bytes[headBytes..<headBytes + addressBytes])
    return .complete(client.map { .client(address: $0.text) } ?? .noClient, bytes: headBytes + rest)
  }
}
