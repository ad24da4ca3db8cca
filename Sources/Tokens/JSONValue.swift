internal import Encodings

/// A JSON document (RFC 8259) as a value. Members keep their order, and names are unique unless the parse was lenient.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent that fits: 64-bit ids keep all digits (check 75).
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])

  /// The value of a member; nil also if this is not an object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    for member in members where member.isNamed(name) { return member.value }
    return nil
  }

  /// Returns a member that may be absent. Null counts as absent.
  package func optional(_ name: String) -> JSONValue? {
    let value = self[name]
    return value == .null ? nil : value
  }

  /// The text; nil also for a text whose comparison takes quadratic time. Names are compared with texts of providers
  /// and unauthenticated clients before anything is verified.
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

  /// The elements of an array that contains only strings.
  package var strings: [String]? {
    guard let array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }

  /// Seconds since 1970, without their fraction (RFC 7519 2).
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

  /// Returns whether the name has the same bytes (RFC 8259 8.3). `==` alone treats a composed letter as equal to its
  /// decomposition. Lengths come first, because nearly every other name differs in length. Then comes `==`, which
  /// compares eight bytes at a time.
  func isNamed(_ wanted: String) -> Bool {
    name.utf8.count == wanted.utf8.count && name == wanted && name.utf8.elementsEqual(wanted.utf8)
  }
}

package struct JSONMemberText: Sendable {
  package let name: String
  /// The text from the name to the end of the value.
  let member: ArraySlice<UInt8>
  package let value: ArraySlice<UInt8>
}

package enum JSONError: Error, Equatable, Sendable {
  case tooLarge
  case tooDeep
  case duplicateName(String)
  case syntax(offset: Int)
}

/// The treatment of an escape that is half a surrogate pair. The grammar allows it, and readers treat it differently
/// (RFC 8259, 8.2).
package enum LoneSurrogates: Sendable {
  /// Read as U+FFFD: documents of other services are read as far as possible.
  case replaced
  /// A syntax error: text that is passed on unchanged must be readable by every reader.
  case refused
}

extension JSONValue {
  /// Maximum nesting of arrays and objects. Documents of providers need four levels.
  package static let depthMax = 8

  /// Parses strictly: RFC 8259 without deviation, valid UTF-8, no byte order mark, nothing after the document.
  ///
  /// Duplicate names in an object are an error, since two readers that choose differently see two documents. The size
  /// is checked before the text is read.
  package static func parse(
    _ bytes: [UInt8], byteCountMax: Int, depthMax: Int = depthMax, _ loneSurrogates: LoneSurrogates = .replaced
  ) throws(JSONError) -> JSONValue {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: depthMax, loneSurrogates)
    return try reader.document()
  }

  /// Parses strictly, and returns the members of the outermost object with their source texts. A number that is read
  /// and written again can lose digits and grow.
  package static func parseWithTexts(
    _ bytes: [UInt8], byteCountMax: Int, _ loneSurrogates: LoneSurrogates = .refused
  ) throws(JSONError) -> (value: JSONValue, texts: [JSONMemberText]) {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: depthMax, loneSurrogates, keepsTexts: true)
    let value = try reader.document()
    return (value, reader.texts ?? [])
  }
}
