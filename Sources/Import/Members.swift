import Encodings
import Tokens

/// One member of a JSON object, with the whole path of its name.
struct Member {
  var name: String
  var value: JSONValue
}

/// The members of one object of a user. The reader takes those that it knows, and then looks at the rest. Null is no
/// value.
struct Members {
  private var rest: [JSONMember]
  private let path: String
  private let nowMillis: Int64
  private var taken: Set<String> = []
  /// What was not understood, by the whole path.
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

  /// Whether one of these was there.
  func holds(_ names: String...) -> Bool { names.contains(where: taken.contains) }

  mutating func leaveOut(_ name: String) { leftOut.insert(name) }

  private func whole(_ name: String) -> String { path.isEmpty ? name : path + "." + name }

  /// The first of these that is there. The names mean the same: two of them must not differ.
  mutating func takeOne(_ names: [String]) throws(UserError) -> Member? {
    let found = rest.filter { names.contains($0.name) }
    rest.removeAll { names.contains($0.name) }
    taken.formUnion(found.map(\.name))
    guard let first = found.first else { return nil }
    if let other = found.first(where: { $0.value != first.value }) {
      throw UserError(whole(other.name), "It means the same as \(first.name), and differs.")
    }
    return Member(name: whole(first.name), value: first.value)
  }

  mutating func take(_ name: String) -> Member? { try? takeOne([name]) }

  // MARK: what matters

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

  /// A JSON object, or a text of one, which `auth:export` writes. The text of an object stays as it was given: no
  /// number loses a digit.
  mutating func claims(
    _ name: String, _ otherName: String, _ texts: [JSONMemberText]
  ) throws(UserError) -> String {
    guard let member = try takeOne([name, otherName]) else { return "" }
    switch member.value {
    case .string(let text): return text
    case .object:
      let text = texts.first { $0.name == member.name }
      return String(decoding: text?.value ?? [], as: UTF8.self)
    default: throw UserError(member.name, "It must be an object, or a string that holds one.")
    }
  }

  // MARK: what informs

  mutating func optionalText(_ names: String...) -> String {
    guard let member = optional(names) else { return "" }
    guard let text = member.value.string else {
      leftOut.insert(member.name)
      return ""
    }
    return text
  }

  /// Milliseconds since 1970 as a number or, as Firebase writes them, as a text; or a date of RFC 3339 or of HTTP.
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

  /// Leaves out two that differ, for neither is certain.
  private mutating func optional(_ names: [String]) -> Member? {
    do throws(UserError) {
      return try takeOne(names)
    } catch {
      leftOut.insert(error.field)
      return nil
    }
  }

  // MARK: the rest

  mutating func leaveOutRest() {
    leftOut.formUnion(rest.map { whole($0.name) })
    rest = []
  }

  /// - Parameters:
  ///   - important: names of this object; one that differs in case or punctuation only is a slip that loses something.
  ///   - stems: an unknown name with one of these rejects the row, too.
  ///   - harmless: names that are known, and left out.
  mutating func finish(
    important: [String] = [], stems: [String] = [], harmless: Set<String> = [], rejectsAll: Bool = false
  ) throws(UserError) {
    let names = Set(important.map(Members.letters))
    for member in rest where !harmless.contains(member.name) {
      let name = Members.letters(member.name)
      if rejectsAll || names.contains(name) || stems.contains(where: { name.contains($0) }) {
        throw UserError(whole(member.name), "This member is not known, and may matter to sign-in.")
      }
    }
    leaveOutRest()
  }

  private static func letters(_ name: String) -> String {
    name.lowercased().filter { $0.isLetter || $0.isNumber }
  }
}

/// The time of an HTTP date (RFC 9110, 5.6.7), which JavaScript writes as `Thu, 02 Jan 2020 03:04:05 GMT`; nil: it is
/// none.
func moment(ofHTTPDate text: String) -> Int64? {
  let pattern = /[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT/
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  guard let match = text.wholeMatch(of: pattern), let index = months.firstIndex(of: String(match.2)) else { return nil }
  let month = index + 1 < 10 ? "0\(index + 1)" : "\(index + 1)"
  return moment(ofDigits: "\(match.3)\(month)\(match.1)\(match.4)\(match.5)\(match.6)000")
}
