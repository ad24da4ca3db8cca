/// Common passwords, which attackers guess first and no account may use. All of them have the minimum length. The
/// comparison ignores case.
///
/// `deploy/common-passwords` makes the list from the package python3-zxcvbn. The words are in ascending order. A binary
/// search finds them in the text of the program, without memory or work at the start.
package struct CommonPasswords: Sendable {
  /// Passwords that only users of this service would choose (NIST SP 800-63B-4, 3.1.1.2).
  private static let ownName = ["latchkey", "latchkey1", "latchkey12", "latchkey123"]

  package init() {}

  package func contains(_ password: String) -> Bool {
    let lower = password.lowercased()
    return CommonPasswords.isTrivial(lower) || CommonPasswords.ownName.contains(lower)
      || CommonPasswords.isListed(Array(lower.utf8))
  }

  private static func isListed(_ wanted: [UInt8]) -> Bool {
    let text = list.utf8Span.span
    func isSeparator(_ index: Int) -> Bool { text[index] == UInt8(ascii: " ") || text[index] == UInt8(ascii: "\n") }
    // Each bound is the start of a word, or the end of the text.
    var (low, high) = (0, text.count)
    while low < high {
      var start = low + (high - low) / 2
      while start > low, !isSeparator(start - 1) { start -= 1 }
      var end = start
      while end < text.count, !isSeparator(end) { end += 1 }
      let word = text.extracting(start..<end)
      if word.precedes(wanted.span) { low = min(end + 1, high) } else if wanted.span.precedes(word) { high = start }
      else { return true }
    }
    return false
  }

  /// Whether the text repeats one character, or is an ascending or descending run of letters or digits.
  private static func isTrivial(_ text: String) -> Bool {
    let scalars = text.unicodeScalars.map { Int($0.value) }
    let steps = zip(scalars, scalars.dropFirst()).map { $1 - $0 }
    guard let first = steps.first, abs(first) <= 1 else { return steps.isEmpty }
    return steps.allSatisfy { $0 == first }
  }
}

extension Span<UInt8> {
  /// Whether this text comes before the other one in the order of their bytes.
  fileprivate func precedes(_ other: Span<UInt8>) -> Bool {
    for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
      return self[index] < other[index]
    }
    return count < other.count
  }
}
