/// Encoder of length-prefixed binary data. Each field states its length, so different rows never have the same bytes.
struct Packer {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ value: UInt8) { bytes.append(value) }

  mutating func append(_ value: Int64) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> Int64(shift))) }
  }

  mutating func append(_ field: some Sequence<UInt8>) {
    let field = Array(field)
    append(Int64(field.count))
    bytes += field
  }

  mutating func append(_ text: String) { append(text.utf8) }

  /// Distinguishes an absent text from an empty one.
  mutating func append(_ text: String?) { append(text.map { Array($0.utf8) }) }

  mutating func append(_ field: [UInt8]?) {
    append(UInt8(field == nil ? 0 : 1))
    if let field { append(field) }
  }
}

/// Decoder for the output of `Packer`. A method returns nil for other input.
struct Unpacker {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func flag() -> Bool? {
    switch byte() {
    case 0: false
    case 1: true
    default: nil
    }
  }

  mutating func number() -> Int64? {
    guard rest.count >= 8 else { return nil }
    defer { rest = rest.dropFirst(8) }
    return rest.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }

  mutating func field() -> [UInt8]? {
    guard let count = number(), count >= 0, count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(Int(count)) }
    return Array(rest.prefix(Int(count)))
  }

  mutating func text() -> String? { field().flatMap { String(validating: $0, as: UTF8.self) } }

  mutating func optionalField() -> [UInt8]?? {
    guard let isThere = flag() else { return nil }
    return isThere ? field().map { .some($0) } : .some(nil)
  }

  mutating func optionalText() -> String?? {
    guard let field = optionalField() else { return nil }
    guard let field else { return .some(nil) }
    return String(validating: field, as: UTF8.self).map { .some($0) }
  }
}
