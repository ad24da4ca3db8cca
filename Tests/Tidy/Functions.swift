/// How long functions are, read off their indentation: it is even everywhere, or the compiler's reader would not agree
/// with people's.
enum Functions {
  struct Length {
    /// Of its declaration, from 1.
    let line: Int
    let length: Int
  }

  /// Of functions, initialisers, subscripts and computed properties.
  static func lengths(_ code: [String]) -> [Length] {
    let margins = code.map { line in line.utf8.prefix { $0 == UInt8(ascii: " ") }.count }
    return code.indices.filter { code[$0].contains(/^ *([@\w()]+ )*(func|init|deinit|subscript|var)\b/) }.map { start in
      Length(line: start + 1, length: end(of: start, code, margins) - start + 1)
    }
  }

  /// The line of the brace that closes what begins at `start`; `start` itself where it has no body of several lines.
  private static func end(of start: Int, _ code: [String], _ margins: [Int]) -> Int {
    let margin = margins[start]
    for line in (start + 1)..<code.count where margins[line] <= margin && margins[line] < code[line].utf8.count {
      guard margins[line] == margin else { return start }
      switch code[line].utf8.dropFirst(margin).first {
      case UInt8(ascii: "}"): return line
      // The end of a parameter list stands at the margin too.
      case UInt8(ascii: ")"): continue
      default: return start
      }
    }
    return start
  }
}
