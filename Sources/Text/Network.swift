/// What counts as one place on the network: an IPv4 address, or the 64 bits of an IPv6 network, all of which one host
/// may have (check 104).
package struct Network: Hashable, Sendable {
  package let text: String

  /// nil: no address was given. What is no address counts as itself: the caller said it, and says it again.
  package init?(_ address: String) {
    guard !address.isEmpty else { return nil }
    // A zone names an interface of the caller's own.
    let bare = address.prefix { $0 != "%" }
    guard bare.contains(":") else {
      text = String(bare)
      return
    }
    guard let groups = Network.groups(bare) else {
      text = address
      return
    }
    if groups[..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
      text = groups[6...].map { "\($0 >> 8).\($0 & 0xFF)" }.joined(separator: ".")
    } else {
      text = groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }
  }

  /// The eight numbers of an IPv6 address (RFC 4291, 2.2); nil: it is none.
  private static func groups(_ address: Substring) -> [UInt16]? {
    let halves = address.split(separator: "::", omittingEmptySubsequences: false)
    guard halves.count <= 2, let head = numbers(halves[0]) else { return nil }
    guard halves.count == 2 else { return head.count == 8 ? head : nil }
    guard let tail = numbers(halves[1]), head.count + tail.count < 8 else { return nil }
    return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
  }

  private static func numbers(_ half: Substring) -> [UInt16]? {
    guard !half.isEmpty else { return [] }
    var numbers: [UInt16] = []
    let parts = half.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if index == parts.count - 1, part.contains(".") {
        let octets = part.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard octets.count == 4, let a = octets[0], let b = octets[1], let c = octets[2], let d = octets[3] else {
          return nil
        }
        numbers += [UInt16(a) << 8 | UInt16(b), UInt16(c) << 8 | UInt16(d)]
      } else {
        guard 1...4 ~= part.utf8.count, let number = UInt16(part, radix: 16) else { return nil }
        numbers.append(number)
      }
    }
    return numbers
  }
}
