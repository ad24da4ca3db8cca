/// Common passwords, which attackers guess first and no account may use. All of them have the minimum length. The
/// comparison ignores case.
///
/// `deploy/common-passwords` makes the list from the package python3-zxcvbn.
package struct CommonPasswords: Sendable {
  /// Read once, because the digests take a few milliseconds.
  private static let words = DigestSet(
    (list + " " + ownName).split(whereSeparator: \.isWhitespace))
  /// Passwords that only users of this service would choose (NIST SP 800-63B-4, 3.1.1.2).
  private static let ownName = "latchkey latchkey1 latchkey12 latchkey123"

  package init() { _ = CommonPasswords.words }

  package var count: Int { CommonPasswords.words.count }

  package func contains(_ password: String) -> Bool {
    let lower = password.lowercased()
    return CommonPasswords.isTrivial(lower) || CommonPasswords.words.contains(Array(lower.utf8))
  }

  /// Whether the text repeats one character, or is an ascending or descending run of letters or digits.
  private static func isTrivial(_ text: String) -> Bool {
    let scalars = text.unicodeScalars.map { Int($0.value) }
    let steps = zip(scalars, scalars.dropFirst()).map { $1 - $0 }
    guard let first = steps.first, abs(first) <= 1 else { return steps.isEmpty }
    return steps.allSatisfy { $0 == first }
  }
}
