/// Says a message that the scan accepted once more, plainly: without unknown fields, with every singular field once.
///
/// The rules are those of protobuf encoding, "Last One Wins": of a singular value the last occurrence counts, of a
/// oneof the last member, and two occurrences of a message are one whose bytes are those of both in a row. The result
/// is never longer than what came, and rarely needed: an encoder writes plainly unless its schema is newer than ours.
enum Rewrite {
  static func plain(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ schema: MessageSchema
  ) throws(ProtobufError) -> [UInt8] {
    // What stands for each field, and of a singular message its payload only. Nil is absent, empty is present.
    var parts = [[UInt8]?](repeating: nil, count: schema.fieldCount)
    var at = range.lowerBound
    while at < range.upperBound {
      let start = at
      let member = try bytes.member(&at, end: range.upperBound)
      guard let index = schema.index(of: member) else { continue }
      let field = schema[index]
      if let oneof = field.oneof {
        for other in parts.indices where other != index && schema[other].oneof == oneof { parts[other] = nil }
      }
      if !field.isRepeated && !field.isMessage { parts[index] = nil }
      if field.isMessage && field.isRepeated {
        let inner = try plain(bytes, member.payload, field.message)
        parts[index, default: []] += prefix(member.number, inner.count) + inner
      } else {
        parts[index, default: []].append(bytes, field.isMessage ? member.payload : start..<at)
      }
    }
    return try joined(parts, schema)
  }

  private static func joined(_ parts: [[UInt8]?], _ schema: MessageSchema) throws(ProtobufError) -> [UInt8] {
    var result: [UInt8] = []
    for (index, part) in parts.enumerated() {
      guard let part else { continue }
      let field = schema[index]
      if field.isMessage && !field.isRepeated {
        let inner = try plain(part.span, part.indices, field.message)
        result += prefix(field.number, inner.count) + inner
      } else {
        result += part
      }
    }
    return result
  }

  /// Tag and length of a length-prefixed field.
  private static func prefix(_ number: UInt32, _ length: Int) -> [UInt8] {
    varint(number << 3 | UInt32(WireType.lengthPrefixed.rawValue)) + varint(UInt32(length))
  }

  private static func varint(_ value: UInt32) -> [UInt8] {
    var result: [UInt8] = []
    var rest = value
    while rest > 0x7f {
      result.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return result + [UInt8(rest)]
  }
}

extension [[UInt8]?] {
  /// Appending in place: a copy on each of thousands of occurrences would be quadratic.
  fileprivate subscript(index: Int, default empty: [UInt8]) -> [UInt8] {
    get { self[index] ?? empty }
    _modify {
      var part = self[index] ?? empty
      self[index] = nil
      defer { self[index] = part }
      yield &part
    }
  }
}
