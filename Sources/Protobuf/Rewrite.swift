/// Re-encoding of scanned messages in plain form: without unknown fields, and with every singular field at most once.
///
/// The rules are those of protobuf encoding, "Last One Wins". The last occurrence of a singular value and the last
/// member of a oneof win. Occurrences of a singular message are merged by concatenating their bytes. The result is
/// never longer than the input. Most messages are plain already, unless the client's schema is newer than ours.
enum Rewrite {
  static func plain(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ schema: MessageSchema
  ) throws(ProtobufError) -> [UInt8] {
    // The bytes kept for each field; for a singular message its payload only. Nil is absent, empty is present.
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

  /// Encodes tag and length of a length-prefixed field.
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
  /// Accesses a part in place. Copying it for each of thousands of occurrences would take quadratic time.
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
