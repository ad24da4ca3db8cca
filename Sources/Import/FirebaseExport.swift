internal import Encodings
internal import Tokens

/// A file that is none, and where.
package struct ExportFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package var description: String
}

/// Cuts the text of Firebase's export, `{"users": [{…}, …]}`, into its users as it is read: a file of millions is
/// never held as a whole.
package struct FirebaseExport {
  /// Of one user's text.
  package static let userBytesMax = 65_536

  private enum Stage { case outside, inside, over }

  private var stage = Stage.outside
  /// How many brackets are open.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  private var user: [UInt8] = []
  /// The last text at the top level, to know the member `users` by.
  private var name: [UInt8] = []

  package init() {}

  /// Hands out each user that is complete.
  package mutating func append(_ bytes: [UInt8], _ each: ([UInt8]) throws -> Void) throws {
    for byte in bytes {
      if isInString {
        try inString(byte)
      } else {
        if let whole = try outsideString(byte) { try each(whole) }
      }
    }
  }

  /// The text has ended.
  package func finish() throws(ExportFileError) {
    guard stage == .over, depth == 0 else {
      throw ExportFileError(description: "it ends before its list of users does, or has none")
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

  /// The user that this byte completes.
  private mutating func outsideString(_ byte: UInt8) throws(ExportFileError) -> [UInt8]? {
    if stage == .inside, depth == 2, !"{], \t\r\n".utf8.contains(byte) {
      throw ExportFileError(description: "its list of users holds something that is not an object")
    }
    if stage == .inside, depth > 2 || byte == UInt8(ascii: "{") { try keep(byte) }
    switch byte {
    case UInt8(ascii: "\""):
      isInString = true
      name = []
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      if depth == 0, byte != UInt8(ascii: "{") { throw ExportFileError(description: "it does not begin with {") }
      if depth == 1, byte == UInt8(ascii: "["), name == Array("users\"".utf8) {
        guard stage == .outside else { throw ExportFileError(description: "it has two lists of users") }
        stage = .inside
      }
      depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      guard depth >= 0 else { throw ExportFileError(description: "a bracket is closed that was not opened") }
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
      throw ExportFileError(description: "a user takes more than \(FirebaseExport.userBytesMax) bytes")
    }
    user.append(byte)
  }
}
