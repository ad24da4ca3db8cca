internal import Encodings

/// A JSON document (RFC 8259) as a value. Members keep their order; no name occurs twice.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits: 64-bit ids survive (check 75).
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])

  /// Nil also for what is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.isNamed(name) { return member.value }
    return nil
  }

  /// A member that may be left out, which null says as well.
  package func optional(_ name: String) -> JSONValue? {
    let value = self[name]
    return value == .null ? nil : value
  }

  /// Nil as well for a text that takes the square of its length to compare: what a provider or a stranger says is
  /// compared with names before anything is proved of it.
  package var string: String? {
    guard case .string(let value) = self, StreamSafeText.holds(value) else { return nil }
    return value
  }

  package var int: Int64? {
    guard case .int(let value) = self else { return nil }
    return value
  }

  package var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  package var array: [JSONValue]? {
    guard case .array(let values) = self else { return nil }
    return values
  }

  package var members: [JSONMember]? {
    guard case .object(let members) = self else { return nil }
    return members
  }

  /// An array of strings and nothing else.
  package var strings: [String]? {
    guard let array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }

  /// RFC 7519 2: seconds since 1970, which may have a fraction.
  package var numericDate: Int64? {
    switch self {
    case .int(let value): value
    case .double(let value): Int64(exactly: value.rounded(.down))
    default: nil
    }
  }
}

package struct JSONMember: Equatable, Sendable {
  package let name: String
  package let value: JSONValue

  package init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }

  /// The same bytes (RFC 8259 8.3); `==` takes a composed letter for the two that it is composed of. Lengths come
  /// first, because nearly every name that is not the one has another length, and then `==`, which looks at eight bytes
  /// at once.
  func isNamed(_ wanted: String) -> Bool {
    name.utf8.count == wanted.utf8.count && name == wanted && name.utf8.elementsEqual(wanted.utf8)
  }
}

package struct JSONMemberText: Sendable {
  package let name: String
  /// From the name to the end of the value.
  let member: ArraySlice<UInt8>
  package let value: ArraySlice<UInt8>
}

package enum JSONError: Error, Equatable, Sendable {
  case tooLarge
  case tooDeep
  case duplicateName(String)
  case syntax(offset: Int)
}

/// An escape that is half a character. The grammar allows it, and readers differ in what they make of it (RFC 8259,
/// 8.2).
package enum LoneSurrogates: Sendable {
  /// By U+FFFD: what others say is read as far as it makes sense.
  case replaced
  /// As a syntax error: what is handed on as it stands has to be read by everybody.
  case refused
}

extension JSONValue {
  /// Arrays and objects inside each other; the documents of providers need four.
  package static let depthMax = 8

  /// Strict: RFC 8259 to the letter, valid UTF-8, no byte order mark, nothing behind the document, and no name twice in
  /// an object, since two readers that choose differently see two documents. The size is looked at before the text.
  package static func parse(
    _ bytes: [UInt8], byteCountMax: Int, depthMax: Int = depthMax, _ loneSurrogates: LoneSurrogates = .replaced
  ) throws(JSONError) -> JSONValue {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: depthMax, loneSurrogates)
    return try reader.document()
  }

  /// With the members of the outermost object as they stand in the text: a number that is read and written again can
  /// lose digits and grow.
  package static func parseWithTexts(
    _ bytes: [UInt8], byteCountMax: Int, _ loneSurrogates: LoneSurrogates = .refused
  ) throws(JSONError) -> (value: JSONValue, texts: [JSONMemberText]) {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: depthMax, loneSurrogates, keepsTexts: true)
    let value = try reader.document()
    return (value, reader.texts ?? [])
  }
}
