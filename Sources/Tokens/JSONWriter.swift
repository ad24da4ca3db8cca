import Encodings

/// A writer that appends JSON to bytes, with commas and escapes where they belong. The caller opens and closes in
/// pairs.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []

  package init(reservingBytes count: Int = 0) {
    bytes.reserveCapacity(count)
  }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package mutating func open(_ bracket: Bracket) {
    separate()
    bytes.append(bracket.rawValue)
  }

  package mutating func close(_ bracket: Bracket) {
    // In ASCII, the code of each closing bracket is that of the opening one plus two.
    bytes.append(bracket.rawValue + 2)
  }

  package enum Bracket: UInt8 {
    case object = 0x7B
    case array = 0x5B
  }

  /// Writes the name of the member whose value comes next.
  package mutating func name(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
  }

  package mutating func string(_ value: String) {
    separate()
    JSONText.append(value, to: &bytes)
  }

  package mutating func int(_ value: Int64) {
    separate()
    DecimalText.append(value, to: &bytes)
  }

  package mutating func bool(_ value: Bool) {
    raw((value ? "true" : "false").utf8)
  }

  package mutating func value(_ value: JSONValue) {
    switch value {
    case .null: raw("null".utf8)
    case .bool(let value): bool(value)
    case .int(let value): int(value)
    case .double(let value): raw(value.description.utf8)
    case .string(let value): string(value)
    case .array(let values):
      open(.array)
      for value in values { self.value(value) }
      close(.array)
    case .object(let members):
      open(.object)
      for member in members {
        name(member.name)
        self.value(member.value)
      }
      close(.object)
    }
  }

  package mutating func member(_ name: String, _ value: String) {
    self.name(name)
    string(value)
  }

  package mutating func member(_ name: String, _ value: Int64) {
    self.name(name)
    int(value)
  }

  package mutating func member(_ name: String, _ values: [String]) {
    self.name(name)
    open(.array)
    for value in values { string(value) }
    close(.array)
  }

  /// Appends text that is known to be JSON: a value, or members of the open object.
  mutating func raw(_ text: some Collection<UInt8>) {
    separate()
    bytes.append(contentsOf: text)
  }

  /// Appends a comma, unless the last byte opens a bracket or ends a name.
  private mutating func separate() {
    guard let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "["), last != UInt8(ascii: ":") else {
      return
    }
    bytes.append(UInt8(ascii: ","))
  }
}
