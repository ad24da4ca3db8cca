/// Encoder of length-prefixed binary data: the contexts of seals, and the input of digests.
///
/// Each field states its length, so different values never have the same bytes.
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
