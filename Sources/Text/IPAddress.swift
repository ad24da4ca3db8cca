/// An IP address of a user's client, as the caller reports it, in canonical form.
///
/// IPv4 is in dotted decimal notation. IPv6 follows RFC 5952. An IPv4-mapped IPv6 address becomes IPv4.
package struct IPAddress: Hashable, Sendable {
  /// The maximum length of the input, in bytes: a full IPv6 address with zone, brackets, port and some whitespace.
  package static let textBytesMax = 128

  package let text: String
  /// The eight groups of an IPv6 address; nil for IPv4.
  let groups: [UInt16]?

  /// Parses an address. Returns nil if the text is not exactly one unambiguous address.
  ///
  /// Accepts a port (`203.0.113.77:443`, `[2001:db8::7]:443`), brackets around IPv6, whitespace around the text, and an
  /// IPv6 zone. The zone names a network interface of the caller, so the parser drops it.
  package init?(_ text: String) {
    guard text.utf8.count <= IPAddress.textBytesMax else { return nil }
    let bare = trimmed(text)
    // After this check, each character is one byte.
    guard bare.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
    if bare.hasPrefix("[") {
      guard let end = bare.firstIndex(of: "]"), IPAddress.isPortOrNothing(bare[bare.index(after: end)...]) else {
        return nil
      }
      self.init(ipv6: bare[bare.index(after: bare.startIndex)..<end])
    } else if let octets = IPAddress.octets(bare.prefix { $0 != ":" }) {
      guard IPAddress.isPortOrNothing(bare.drop { $0 != ":" }) else { return nil }
      self.init(octets)
    } else {
      // After a dotted tail, a colon starts a port: an address cannot have another group there.
      let tail = bare.lastIndex(of: ".").map { bare[$0...] } ?? ""
      let port = tail.drop { $0 != ":" }
      guard !tail.contains("%"), IPAddress.isPortOrNothing(port) else {
        self.init(ipv6: bare[...])
        return
      }
      self.init(ipv6: bare.dropLast(port.count))
    }
  }

  private init(_ text: String, groups: [UInt16]?) {
    self.text = text
    self.groups = groups
  }

  private init(_ octets: [UInt8]) {
    self.init(octets.map { String($0) }.joined(separator: "."), groups: nil)
  }

  private init?(ipv6 text: Substring) {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first, parts.dropFirst().allSatisfy(IPAddress.isZone),
      let groups = IPAddress.groups(address)
    else { return nil }
    if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
      self.init(groups[6...].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
    } else {
      self.init(IPAddress.shortest(groups), groups: groups)
    }
  }

  // MARK: Parts

  /// Parses four decimal octets. Rejects leading zeros, because some parsers read them as octal.
  private static func octets(_ text: Substring) -> [UInt8]? {
    let octets = text.split(separator: ".", omittingEmptySubsequences: false).compactMap { part in
      isNumber(part, digitsMax: 3) ? UInt8(part) : nil
    }
    let dots = text.utf8.count { $0 == UInt8(ascii: ".") }
    return octets.count == 4 && dots == 3 ? octets : nil
  }

  private static func isPortOrNothing(_ text: Substring) -> Bool {
    guard let colon = text.first else { return true }
    let port = text.dropFirst()
    return colon == ":" && isNumber(port, digitsMax: 5) && (UInt16(port) ?? 0) > 0
  }

  private static func isNumber(_ text: Substring, digitsMax: Int) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return 1...digitsMax ~= text.utf8.count && text.utf8.allSatisfy(digits.contains)
      && (text.utf8.count == 1 || !text.hasPrefix("0"))
  }

  /// Reports whether the text is a zone: letters, digits, the unreserved marks of RFC 6874, and the percent sign of its
  /// escapes.
  private static func isZone(_ zone: Substring) -> Bool {
    !zone.isEmpty && zone.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-._~%".utf8.contains(byte)
      }
    }
  }

  /// Parses the eight groups of an IPv6 address (RFC 4291, 2.2).
  private static func groups(_ address: Substring) -> [UInt16]? {
    let halves = address.split(separator: "::", omittingEmptySubsequences: false)
    guard halves.count <= 2, let head = numbers(halves[0], endsAddress: halves.count == 1) else { return nil }
    guard halves.count == 2 else { return head.count == 8 ? head : nil }
    guard let tail = numbers(halves[1], endsAddress: true), head.count + tail.count < 8 else { return nil }
    return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  /// Parses the groups on one side of `::`.
  /// - Parameter endsAddress: whether the text ends the address. Only the end may be in IPv4 notation.
  private static func numbers(_ half: Substring, endsAddress: Bool) -> [UInt16]? {
    guard !half.isEmpty else { return [] }
    var numbers: [UInt16] = []
    let parts = half.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if endsAddress, index == parts.count - 1, let octets = octets(part) {
        numbers += [UInt16(octets[0]) << 8 | UInt16(octets[1]), UInt16(octets[2]) << 8 | UInt16(octets[3])]
      } else {
        // `UInt16(_:radix:)` accepts a sign.
        guard 1...4 ~= part.utf8.count, part.utf8.first != UInt8(ascii: "+"), part.utf8.first != UInt8(ascii: "-"),
          let number = UInt16(part, radix: 16)
        else { return nil }
        numbers.append(number)
      }
    }
    return numbers
  }

  /// Formats groups as in RFC 5952: in lower case, without leading zeros, and without the first of the longest runs of
  /// zero groups.
  private static func shortest(_ groups: [UInt16]) -> String {
    var longest = 0..<0
    var start = 0
    for index in 0...groups.count where index == groups.count || groups[index] != 0 {
      if index - start > max(1, longest.count) { longest = start..<index }
      start = index + 1
    }
    func text(_ part: some Collection<UInt16>) -> String {
      part.map { String($0, radix: 16) }.joined(separator: ":")
    }
    guard !longest.isEmpty else { return text(groups) }
    return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
  }
}
