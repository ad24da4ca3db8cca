/// The tokens of a JSON5 file, without whitespace and comments. It accepts everything that the decoder accepts, and
/// more.
struct FileTokens: Sequence, IteratorProtocol {
  enum Kind: Hashable {
    case text
    /// A number, a name without quotes, or a literal such as true, false or null.
    case word
    case sign
  }

  struct Token {
    let kind: Kind
    let range: Range<Int>
  }

  private let file: [UInt8]
  private var at: Int
  /// Offset of an unclosed comment.
  private(set) var openComment: Int?

  init(_ file: [UInt8]) {
    self.file = file
    // The decoder skips a byte order mark.
    at = file.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  mutating func next() -> Token? {
    while at < file.count {
      let start = at
      switch file[start] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        at = endOfText(from: start)
        return Token(kind: .text, range: start..<at)
      case UInt8(ascii: "/") where skipComment(): continue
      case 0x09...0x0D, UInt8(ascii: " "): at += 1
      case let byte where FileTokens.isPartOfWord(byte):
        at = file[start...].firstIndex { !FileTokens.isPartOfWord($0) } ?? file.count
        return Token(kind: .word, range: start..<at)
      default:
        at += 1
        return Token(kind: .sign, range: start..<at)
      }
    }
    return nil
  }

  private static func isPartOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
      true
    default: "+-._$\\".utf8.contains(byte)
    }
  }

  private func endOfText(from start: Int) -> Int {
    var end = start + 1
    while end < file.count, file[end] != file[start] { end += file[end] == UInt8(ascii: "\\") ? 2 : 1 }
    return Swift.min(end + 1, file.count)
  }

  /// Skips `// …` or `/* … */`; returns false if the slash starts neither.
  private mutating func skipComment() -> Bool {
    let (slash, star) = (UInt8(ascii: "/"), UInt8(ascii: "*"))
    guard at + 1 < file.count else { return false }
    switch file[at + 1] {
    case slash: at = file[at...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? file.count
    case star:
      var end = at + 2
      while end + 1 < file.count, file[end] != star || file[end + 1] != slash { end += 1 }
      if end + 1 >= file.count { openComment = at }
      at = Swift.min(end + 2, file.count)
    default: return false
    }
    return true
  }
}

/// A position in a file, as editors count it from 1.
struct FilePlace: CustomStringConvertible {
  let line: Int
  let column: Int

  init(of offset: Int, in file: [UInt8]) {
    let before = file[..<offset]
    let newline = UInt8(ascii: "\n")
    line = 1 + before.count { $0 == newline }
    let start = before.lastIndex(of: newline).map { $0 + 1 } ?? 0
    // Counts each UTF-8 character once.
    column = 1 + before[start...].count { $0 & 0xC0 != 0x80 }
  }

  var description: String { "line \(line), column \(column)" }
}
