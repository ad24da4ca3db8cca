import Encodings

/// A JSON parser that makes one pass over the bytes. It is written by hand because every sign-in with an ID token uses
/// it. FoundationEssentials' decoder takes 2.5 times as long and accepts duplicate names.
struct JSONReader {
  private let bytes: [UInt8]
  private let depthMax: Int
  private let loneSurrogates: LoneSurrogates
  private let isLenient: Bool
  private var offset = 0
  /// Source texts of the outermost object's members, if they are kept.
  private(set) var texts: [JSONMemberText]?

  /// - Parameter isLenient: keeps duplicate names, reads invalid UTF-8 as U+FFFD, and numbers beyond `Double` as
  ///   infinite.
  init(
    _ bytes: [UInt8], depthMax: Int, _ loneSurrogates: LoneSurrogates, keepsTexts: Bool = false, isLenient: Bool = false
  ) {
    self.bytes = bytes
    self.depthMax = depthMax
    self.loneSurrogates = loneSurrogates
    self.isLenient = isLenient
    texts = keepsTexts ? [] : nil
  }

  mutating func document() throws(JSONError) -> JSONValue {
    let value = try value(depth: 0)
    skipSpace()
    guard offset == bytes.count else { throw syntaxError }
    return value
  }

  private var syntaxError: JSONError { .syntax(offset: offset) }

  /// The next byte, or 0 at the end. No rule of the grammar accepts a 0 byte.
  private var next: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  private mutating func skipSpace() {
    while next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 { offset += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    skipSpace()
    switch next {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return .object(try members(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try elements(depth: depth + 1))
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func literal(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
    for byte in text.description.utf8 {
      guard take(byte) else { throw syntaxError }
    }
    return value
  }

  private mutating func members(depth: Int) throws(JSONError) -> [JSONMember] {
    guard depth <= depthMax else { throw .tooDeep }
    offset += 1
    skipSpace()
    var members: [JSONMember] = []
    guard !take(UInt8(ascii: "}")) else { return members }
    var names: Set<String> = []
    // Enough for a token's header and claims. Nested objects are small, or not worth a reservation before they are
    // read.
    if depth == 1 { members.reserveCapacity(min(16, bytes.count / 20)) }
    repeat {
      skipSpace()
      let start = offset
      guard next == UInt8(ascii: "\"") else { throw syntaxError }
      let name = try string()
      let isComparable = StreamSafeText.holds(name)
      guard isComparable || isLenient else { throw .syntax(offset: start) }
      guard isLenient || isNew(name, among: members, &names) else { throw .duplicateName(name) }
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw syntaxError }
      skipSpace()
      let valueStart = offset
      let value = try value(depth: depth)
      if isComparable { members.append(JSONMember(name, value)) }
      if depth == 1 {
        texts?.append(JSONMemberText(name: name, member: bytes[start..<offset], value: bytes[valueStart..<offset]))
      }
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw syntaxError }
    return members
  }

  /// Returns whether a name is new. A linear search is faster than hashing for the objects of tokens. The set prevents
  /// quadratic cost for a hostile object.
  private func isNew(_ name: String, among members: [JSONMember], _ names: inout Set<String>) -> Bool {
    guard members.count >= 16 else { return !members.contains { $0.name == name } }
    if names.isEmpty { names.formUnion(members.map(\.name)) }
    return names.insert(name).inserted
  }

  private mutating func elements(depth: Int) throws(JSONError) -> [JSONValue] {
    guard depth <= depthMax else { throw .tooDeep }
    offset += 1
    skipSpace()
    var values: [JSONValue] = []
    guard !take(UInt8(ascii: "]")) else { return values }
    repeat {
      values.append(try value(depth: depth))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw syntaxError }
    return values
  }

  private mutating func string() throws(JSONError) -> String {
    offset += 1
    let start = offset
    var end = start
    while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") {
      end += 1
    }
    offset = end
    if next == UInt8(ascii: "\"") {
      offset += 1
      return try text(bytes.span.extracting(start..<end), start)
    }
    var unescaped = Array(bytes[start..<offset])
    while next != UInt8(ascii: "\"") {
      guard next >= 0x20 else { throw syntaxError }
      if take(UInt8(ascii: "\\")) {
        unescaped.append(contentsOf: Array(String(try escape()).utf8))
      } else {
        unescaped.append(next)
        offset += 1
      }
    }
    offset += 1
    return try text(unescaped.span, start)
  }

  private func text(_ bytes: Span<UInt8>, _ start: Int) throws(JSONError) -> String {
    guard let text = try? UTF8Span(validating: bytes) else {
      guard isLenient else { throw .syntax(offset: start) }
      return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    return String(copying: text)
  }

  private mutating func escape() throws(JSONError) -> Unicode.Scalar {
    let kind = next
    offset += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw syntaxError
    }
    let unit = try hexadecimal()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    // A high and a low surrogate together make a scalar, neither does alone. Two low ones would exceed the scalar
    // range.
    let end = offset
    if take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
      let low = try hexadecimal()
      if (0xDC00...0xDFFF).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      {
        return scalar
      }
    }
    guard loneSurrogates == .replaced else { throw .syntax(offset: end) }
    // The next escape is read on its own.
    offset = end
    return "\u{FFFD}"
  }

  private mutating func hexadecimal() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Character(Unicode.Scalar(next)).hexDigitValue else { throw syntaxError }
      value = value << 4 | UInt32(digit)
      offset += 1
    }
    return value
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    let integerEnd = offset
    if take(UInt8(ascii: ".")) { try digits() }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      offset += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { offset += 1 }
      try digits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if offset == integerEnd, let value = Int64(text) { return .int(value) }
    guard let value = Double(text), value.isFinite || isLenient else { throw .syntax(offset: start) }
    return .double(value)
  }

  private mutating func digits() throws(JSONError) {
    let start = offset
    while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
    guard offset > start else { throw syntaxError }
  }
}
