package import Store

/// Generator of ids for new records. No id is derived from what a user entered.
package struct Ids: Sendable {
  private let randomness: any Randomness
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  private static let hexadecimalDigits = Array("0123456789abcdef".utf8)

  package init(randomness: any Randomness) { self.randomness = randomness }

  package func account() -> String { base62(28) }

  /// Reports whether `text` is a valid account id: 1 to 128 printable ASCII characters.
  ///
  /// The server, an import or the issuer of a custom token chooses an account id.
  static func isAccountID(_ text: String) -> Bool {
    1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// Returns a session id: 8 letters of time, then 22 random base62 characters (131 bits).
  ///
  /// A session id names its row in every token, so it must not be guessable. The time places new sessions next to each
  /// other in the store's index. Without it, each new session would touch a separate page.
  package func session(at now: Timestamp) -> String {
    id(at: now, letters: 8, of: Ids.alphabet, thenRandom: 22)
  }

  package func attempt() -> String { base62(22) }

  func factor() -> String { base62(22) }

  /// Returns an id that sorts by time, so that an audit table grows at its end.
  package func audit(at now: Timestamp) -> String {
    id(at: now, letters: 12, of: Ids.hexadecimalDigits, thenRandom: 14)
  }

  /// Returns an id that sorts by time, so that the message that waits longest comes first.
  func delivery(at now: Timestamp) -> String { audit(at: now) }

  /// Returns an id that sorts by time: `count` letters of the time, then `randomCount` random letters.
  /// - Parameter alphabet: in the order of its bytes.
  private func id(at now: Timestamp, letters count: Int, of alphabet: [UInt8], thenRandom randomCount: Int) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity(count + randomCount)
    letters.append(contentsOf: repeatElement(alphabet[0], count: count))
    let base = Int64(alphabet.count)
    var rest = max(0, now.millis)
    for index in letters.indices.reversed() {
      letters[index] = alphabet[Int(rest % base)]
      rest /= base
    }
    randomness.append(randomCount, of: Ids.alphabet, to: &letters)
    return String(decoding: letters, as: UTF8.self)
  }

  private func base62(_ count: Int) -> String { randomness.text(count, of: Ids.alphabet) }
}
