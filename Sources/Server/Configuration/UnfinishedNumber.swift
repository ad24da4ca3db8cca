/// Numbers that stop before their digits, such as `1e-`: the decoder of FoundationEssentials reads on past the end of
/// one and traps, where the operator should read what is wrong.
enum UnfinishedNumber {
  /// Looks outside of texts, comments and names only.
  static func stands(in file: [UInt8]) -> Bool {
    var at = 0
    while at < file.count {
      switch file[at] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"): at = endOfText(file, from: at)
      case UInt8(ascii: "/"): at = endOfComment(file, from: at)
      case let byte where isPartOfWord(byte):
        let end = file[at...].firstIndex { !isPartOfWord($0) } ?? file.count
        if isUnfinished(file[at..<end]) { return true }
        at = end
      default: at += 1
      }
    }
    return false
  }

  /// A name begins with a letter, and a hexadecimal number may end in one.
  private static func isUnfinished(_ word: ArraySlice<UInt8>) -> Bool {
    guard let first = word.first, let last = word.last, "+-.0123456789".utf8.contains(first) else { return false }
    return "eE+-".utf8.contains(last) && !word.contains { $0 | 0x20 == UInt8(ascii: "x") }
  }

  private static func isPartOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
      true
    default: "+-._$".utf8.contains(byte)
    }
  }

  private static func endOfText(_ file: [UInt8], from start: Int) -> Int {
    var at = start + 1
    while at < file.count, file[at] != file[start] { at += file[at] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(at + 1, file.count)
  }

  /// Of `// …` or `/* … */`; behind the slash where it begins neither.
  private static func endOfComment(_ file: [UInt8], from start: Int) -> Int {
    let star = UInt8(ascii: "*")
    guard start + 1 < file.count else { return file.count }
    switch file[start + 1] {
    case UInt8(ascii: "/"):
      return file[start...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? file.count
    case star:
      var at = start + 2
      while at + 1 < file.count, file[at] != star || file[at + 1] != UInt8(ascii: "/") { at += 1 }
      return min(at + 2, file.count)
    default: return start + 1
    }
  }
}
