import Tokens

// Paths to members of tokens and profiles, as the setting `claims` writes them: `email`, `data.email`, `emails[0]`,
// `emails[0].value`. Elements count from 0.

/// The rules that a configured path must satisfy.
enum ClaimPath {
  static let bytesMax = 256
  static let indexMax = 999

  /// Returns why a path is invalid, or nil if it is valid.
  static func fault(of path: String) -> String? {
    guard path.utf8.count <= bytesMax else { return "must have at most \(bytesMax) bytes" }
    var rest = path[...]
    while let open = rest.firstIndex(where: { $0 == "[" || $0 == "]" }) {
      let name = rest[..<open]
      // An index follows a name or another index, and a name follows an index only after a dot.
      guard rest[open] == "[", !name.isEmpty || rest.startIndex > path.startIndex else {
        return "must have a name before each index, such as emails[0]"
      }
      guard rest.startIndex == path.startIndex || name.isEmpty || (name.first == "." && name.count > 1) else {
        return "must have a dot between an index and a name, such as emails[0].value"
      }
      let digits = rest[rest.index(after: open)...].prefix { $0 != "]" }
      guard index(digits) != nil, digits.endIndex < rest.endIndex else {
        return "must have indexes of 0 to \(indexMax), such as emails[0]"
      }
      rest = rest[rest.index(after: digits.endIndex)...]
    }
    let isFirst = rest.startIndex == path.startIndex
    return isFirst || rest.isEmpty || (rest.first == "." && rest.count > 1)
      ? nil : "must have a dot between an index and a name, such as emails[0].value"
  }

  static func index(_ text: Substring) -> Int? {
    guard (1...3).contains(text.utf8.count), text == "0" || text.first != "0",
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text)
  }
}

extension ClaimNames {
  /// The settings with their paths.
  var all: [(setting: String, path: String)] {
    [
      ("subject", subject), ("email", email), ("email_verified", emailVerified), ("name", name), ("picture", picture),
      ("username", username),
    ]
  }
}

extension JSONValue {
  /// Returns the value at a path. A member with the name of the whole path, or of its beginning, precedes the steps,
  /// because URLs as claim names have dots too. Returns nil if a step does not exist or has another type.
  func member(at path: String) -> JSONValue? { member(at: path[...]) }

  private func member(at path: Substring) -> JSONValue? {
    if let value = self[String(path)] { return value }
    if path.last == "]", let open = path.lastIndex(of: "[") {
      let digits = path[path.index(after: open)...].dropLast()
      guard let index = ClaimPath.index(digits), let values = member(at: path[..<open])?.array,
        values.indices.contains(index)
      else { return nil }
      return values[index]
    }
    guard let dot = path.lastIndex(of: ".") else { return nil }
    return member(at: path[..<dot])?[String(path[path.index(after: dot)...])]
  }

  /// Returns the same member; nil also for null and the empty text.
  func given(at path: String) -> JSONValue? {
    switch member(at: path) {
    case nil, .null: nil
    case .string(let text) where text.isEmpty: nil
    case let value: value
    }
  }
}
