import Encodings
import Store
import Text

/// Ten single-use codes that replace a lost factor. Only their digests are stored: a code of 80 bits cannot be found by
/// trying.
struct RecoveryCodes: Hashable, Sendable {
  static let count = 10
  private static let codeBytes = 10
  private static let groupLetters = 4

  /// The digests of the unused codes.
  var digests: [Digest]

  init(digests: [Digest]) { self.digests = digests }

  /// Generates new codes and their texts, which are returned once.
  static func make(
    _ randomness: any Randomness, _ cryptography: any Cryptography
  ) -> (codes: RecoveryCodes, texts: [String]) {
    let letters = (0..<count).map { _ in Array(Base32.encode(randomness.bytes(codeBytes)).lowercased().utf8) }
    let texts = letters.map { letters in
      stride(from: 0, to: letters.count, by: groupLetters)
        .map { String(decoding: letters[$0..<min($0 + groupLetters, letters.count)], as: UTF8.self) }
        .joined(separator: "-")
    }
    return (RecoveryCodes(digests: texts.map { digest(of: $0, cryptography) }), texts)
  }

  /// Returns the codes that remain after the use of this one. nil: it is none of them.
  func using(_ code: String, _ cryptography: any Cryptography) -> RecoveryCodes? {
    let presented = RecoveryCodes.digest(of: code, cryptography).bytes
    let rest = digests.filter { !cryptography.equal($0.bytes, presented) }
    return rest.count < digests.count ? RecoveryCodes(digests: rest) : nil
  }

  private static func digest(of code: String, _ cryptography: any Cryptography) -> Digest {
    cryptography.sha256(Array("recovery code ".utf8) + Array(oneTimeCode(code).utf8))
  }
}
