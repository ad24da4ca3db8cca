/// Check for incomplete numbers such as `1e-`. The decoder of FoundationEssentials reads past the end of one and traps,
/// although the operator needs an error message.
enum UnfinishedNumber {
  /// Returns the offset of the first incomplete number outside of strings, comments and names.
  static func first(in file: [UInt8]) -> Int? {
    FileTokens(file).first { $0.kind == .word && isUnfinished(file[$0.range]) }?.range.lowerBound
  }

  /// Whether a word is an incomplete number. Names start with a letter, and a hexadecimal number may end in one.
  private static func isUnfinished(_ word: ArraySlice<UInt8>) -> Bool {
    guard let first = word.first, let last = word.last, "+-.0123456789".utf8.contains(first) else { return false }
    return "eE+-".utf8.contains(last) && !word.contains { $0 | 0x20 == UInt8(ascii: "x") }
  }
}
