/// The length of functions, measured by their indentation, which is consistent in all files.
enum Functions {
  struct Length {
    /// The line of its declaration, from 1.
    let line: Int
    let length: Int
  }

  /// The lengths of functions, initialisers, subscripts and computed properties.
  static func lengths(_ code: [String]) -> [Length] {
    let margins = code.map { line in line.utf8.prefix { $0 == UInt8(ascii: " ") }.count }
    return code.indices.filter { declares(code[$0]) }.map { start in
      Length(line: start + 1, length: end(of: start, code, margins) - start + 1)
    }
  }

  /// Whether the line has only modifiers before one of these words. A regular expression would take half a minute.
  private static func declares(_ line: String) -> Bool {
    for word in line.utf8.split(separator: UInt8(ascii: " ")) {
      let name = word.prefix(while: isLetter)
      if keywords.contains(where: name.elementsEqual), word.dropFirst(name.count).first.map(isOfName) != true {
        return true
      }
      guard word.allSatisfy({ isOfName($0) || "@()".utf8.contains($0) }) else { return false }
    }
    return false
  }

  private static let keywords = ["func", "init", "deinit", "subscript", "var"].map { Array($0.utf8) }

  private static func isLetter(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    isLetter(byte) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
  }

  /// The line of the brace that closes the declaration at `start`, or `start` if its body has only one line.
  private static func end(of start: Int, _ code: [String], _ margins: [Int]) -> Int {
    let margin = margins[start]
    for line in (start + 1)..<code.count where margins[line] <= margin && margins[line] < code[line].utf8.count {
      guard margins[line] == margin else { return start }
      switch code[line].utf8.dropFirst(margin).first {
      case UInt8(ascii: "}"): return line
      // A parameter list can also end at the margin.
      case UInt8(ascii: ")"): continue
      default: return start
      }
    }
    return start
  }
}
