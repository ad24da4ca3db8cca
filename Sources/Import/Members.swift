import Encodings
import Tokens

/// One member of a JSON object, with the full path of its name.
struct Member {
  var name: String
  var value: JSONValue
}

/// The members of one object of a user. The reader takes the members that it knows, then checks the rest. Null counts
/// as absent.
struct Members {
  private var rest: [JSONMember]
  private let path: String
  private let nowMillis: Int64
  private var taken: Set<String> = []
  /// Full paths of members that were not understood.
  private(set) var leftOut: Set<String> = []

  init(_ json: JSONValue, path: String, nowMillis: Int64) throws(UserError) {
    guard let members = json.members else { throw UserError(path, "It must be an object.") }
    rest = members.filter { $0.value != .null }
    self.path = path
    self.nowMillis = nowMillis
  }

  func members(of member: Member) throws(UserError) -> Members {
    try Members(member.value, path: member.name, nowMillis: nowMillis)
  }

  /// Returns whether one of these was present.
  func holds(_ names: String...) -> Bool { names.contains(where: taken.contains) }

  mutating func leaveOut(_ name: String) { leftOut.insert(name) }

  private func whole(_ name: String) -> String { path.isEmpty ? name : path + "." + name }

  /// Takes the first of these that is present. The names are synonyms, so their values must not differ.
  mutating func takeOne(_ names: [String]) throws(UserError) -> Member? {
    let found = rest.filter { names.contains($0.name) }
    rest.removeAll { names.contains($0.name) }
    taken.formUnion(found.map(\.name))
    guard let first = found.first else { return nil }
    if let other = found.first(where: { $0.value != first.value }) {
      throw UserError(whole(other.name), "It must equal \(first.name), which has the same meaning.")
    }
    return Member(name: whole(first.name), value: first.value)
  }

  mutating func take(_ name: String) -> Member? { try? takeOne([name]) }

  // MARK: strict members

  mutating func text(_ names: String...) throws(UserError) -> String {
    guard let member = try takeOne(names) else { return "" }
    guard let text = member.value.string else { throw UserError(member.name, "It must be a string.") }
    return text
  }

  mutating func flag(_ name: String) throws(UserError) -> Bool {
    guard let member = take(name) else { return false }
    guard let flag = member.value.bool else { throw UserError(member.name, "It must be true or false.") }
    return flag
  }

  mutating func bytes(_ names: String...) throws(UserError) -> [UInt8] {
    guard let member = try takeOne(names) else { return [] }
    guard let bytes = member.value.string.flatMap(AnyBase64.decode) else {
      throw UserError(member.name, "It must be base64.")
    }
    return bytes
  }

  mutating func list(_ names: String...) throws(UserError) -> [Member] {
    guard let member = try takeOne(names) else { return [] }
    guard let values = member.value.array else { throw UserError(member.name, "It must be an array.") }
    return values.map { Member(name: member.name, value: $0) }
  }

  /// Reads a JSON object, or a text that contains one, as `auth:export` writes it. The text of an object stays
  /// unchanged: no number loses a digit.
  mutating func claims(
    _ name: String, _ otherName: String, _ texts: [JSONMemberText]
  ) throws(UserError) -> String {
    guard let member = try takeOne([name, otherName]) else { return "" }
    switch member.value {
    case .string(let text): return text
    case .object:
      let text = texts.first { $0.name == member.name }
      return String(decoding: text?.value ?? [], as: UTF8.self)
    default: throw UserError(member.name, "It must be an object, or a string that contains one.")
    }
  }

  // MARK: informative members

  mutating func optionalText(_ names: String...) -> String {
    guard let member = optional(names) else { return "" }
    guard let text = member.value.string else {
      leftOut.insert(member.name)
      return ""
    }
    return text
  }

  /// Returns milliseconds since 1970. Accepts a number, a number as text (as Firebase writes it), an RFC 3339 date or
  /// an HTTP date.
  mutating func millis(_ names: String...) -> Int64? {
    guard let member = optional(names) else { return nil }
    let millis: Int64? = switch member.value {
    case .int(let value): value
    case .double(let value): Int64(exactly: value)
    case .string(let text): Int64(text) ?? moment(ofRFC3339: text) ?? moment(ofHTTPDate: text)
    default: nil
    }
    guard let millis, 0...nowMillis ~= millis else {
      leftOut.insert(member.name)
      return nil
    }
    return millis
  }

  /// Omits two values that differ, because neither is certain.
  private mutating func optional(_ names: [String]) -> Member? {
    do throws(UserError) {
      return try takeOne(names)
    } catch {
      leftOut.insert(error.field)
      return nil
    }
  }

  // MARK: remaining members

  mutating func leaveOutRest() {
    leftOut.formUnion(rest.map { whole($0.name) })
    rest = []
  }

  /// Checks the members that were not taken.
  ///
  /// - Parameters:
  ///   - important: names of this object. A name that differs only in case or punctuation is a typo that would lose
  ///     data.
  ///   - stems: an unknown name that contains one of these rejects the row, too.
  ///   - harmless: known names that are omitted.
  mutating func finish(
    important: [String] = [], stems: [String] = [], harmless: Set<String> = [], rejectsAll: Bool = false
  ) throws(UserError) {
    let names = Set(important.map(Members.letters))
    for member in rest where !harmless.contains(member.name) {
      let name = Members.letters(member.name)
      if rejectsAll || names.contains(name) || stems.contains(where: { name.contains($0) }) {
        throw UserError(whole(member.name), "The member is unknown and may affect sign-in.")
      }
    }
    leaveOutRest()
  }

  private static func letters(_ name: String) -> String {
    name.lowercased().filter { $0.isLetter || $0.isNumber }
  }
}

/// Returns the time of an HTTP date (RFC 9110, 5.6.7), in milliseconds since 1970; nil if the text is not one.
/// JavaScript writes `Thu, 02 Jan 2020 03:04:05 GMT`.
func moment(ofHTTPDate text: String) -> Int64? {
  let pattern = /[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT/
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  guard let match = text.wholeMatch(of: pattern), let index = months.firstIndex(of: String(match.2)) else { return nil }
  let month = index + 1 < 10 ? "0\(index + 1)" : "\(index + 1)"
  return moment(ofDigits: "\(match.3)\(month)\(match.1)\(match.4)\(match.5)\(match.6)000")
}
