internal import Encodings
internal import Tokens

/// Why a file is not an export of users.
package struct ExportFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package var description: String
}

/// A parser that splits Firebase's export, `{"users": [{…}, …]}`, into users as it is read. It never holds a file of
/// millions of users as a whole.
package struct FirebaseExport {
  /// Maximum length of one user's text, in bytes.
  package static let userBytesMax = 65_536

  private enum Stage { case outside, inside, over }

  private var stage = Stage.outside
  /// The number of open brackets.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  private var user: [UInt8] = []
  /// The last text at the top level, which identifies the member `users`.
  private var name: [UInt8] = []

  package init() {}

  /// Calls `each` with every complete user.
  package mutating func append(_ bytes: [UInt8], _ each: ([UInt8]) throws -> Void) throws {
    for byte in bytes {
      if isInString {
        try inString(byte)
      } else {
        if let whole = try outsideString(byte) { try each(whole) }
      }
    }
  }

  /// Checks at the end of the text that it is complete.
  package func finish() throws(ExportFileError) {
    guard stage == .over, depth == 0 else {
      throw ExportFileError(description: "the file ends before its list of users ends, or has no such list")
    }
  }

  private mutating func inString(_ byte: UInt8) throws(ExportFileError) {
    if stage == .inside {
      try keep(byte)
    } else if depth == 1, name.count < 16 {
      name.append(byte)
    }
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      isInString = false
    }
  }

  /// Returns the user that this byte completes.
  private mutating func outsideString(_ byte: UInt8) throws(ExportFileError) -> [UInt8]? {
    if stage == .inside, depth == 2, !"{], \t\r\n".utf8.contains(byte) {
      throw ExportFileError(description: "the list of users contains a value that is not an object")
    }
    if stage == .inside, depth > 2 || byte == UInt8(ascii: "{") { try keep(byte) }
    switch byte {
    case UInt8(ascii: "\""):
      isInString = true
      name = []
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      if depth == 0, byte != UInt8(ascii: "{") { throw ExportFileError(description: "the file does not begin with {") }
      if depth == 1, byte == UInt8(ascii: "["), name == Array("users\"".utf8) {
        guard stage == .outside else { throw ExportFileError(description: "the file has two lists of users") }
        stage = .inside
      }
      depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      guard depth >= 0 else { throw ExportFileError(description: "a closing bracket has no opening bracket") }
      guard stage == .inside else { break }
      if depth == 1 { stage = .over }
      guard depth == 2, byte == UInt8(ascii: "}") else { break }
      defer { user = [] }
      return user
    default: break
    }
    return nil
  }

  private mutating func keep(_ byte: UInt8) throws(ExportFileError) {
    guard user.count < FirebaseExport.userBytesMax else {
      throw ExportFileError(description: "a user is larger than \(FirebaseExport.userBytesMax) bytes")
    }
    user.append(byte)
  }
}
