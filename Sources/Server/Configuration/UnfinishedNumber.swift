/// Numbers that stop before their digits, such as `1e-`: the decoder of FoundationEssentials reads on past the end of
/// one and traps, where the operator should read what is wrong.
enum UnfinishedNumber {
  /// Where the first one stands, outside of texts, comments and names.
  static func first(in file: [UInt8]) -> Int? {
    FileTokens(file).first { $0.kind == .word && isUnfinished(file[$0.range]) }?.range.lowerBound
  }

  /// A name begins with a letter, and a hexadecimal number may end in one.
  private static func isUnfinished(_ word: ArraySlice<UInt8>) -> Bool {
    guard let first = word.first, let last = word.last, "+-.0123456789".utf8.contains(first) else { return false }
    return "eE+-".utf8.contains(last) && !word.contains { $0 | 0x20 == UInt8(ascii: "x") }
  }
}
