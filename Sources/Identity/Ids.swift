package import Store

/// Fresh names for new things. None of them is ever derived from what a person typed.
package struct Ids: Sendable {
  private let randomness: any Randomness
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
  private static let hexadecimalDigits = Array("0123456789abcdef".utf8)

  package init(randomness: any Randomness) { self.randomness = randomness }

  package func account() -> String { base62(28) }

  /// Ids are ours, imported, or chosen by who mints custom tokens: 1 to 128 printable ASCII characters.
  static func isAccountID(_ text: String) -> Bool {
    1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// 22 base62 characters hold 131 bits: a session id names its row in every token and must not be guessable. The time
  /// before them puts new sessions side by side in the store's index, where each would else touch a page of its own.
  package func session(at now: Timestamp) -> String {
    id(at: now, letters: 8, of: Ids.alphabet, thenRandom: 22)
  }

  package func attempt() -> String { base62(22) }

  func factor() -> String { base62(22) }

  /// Sorts by time, so that an audit table grows at its end.
  package func audit(at now: Timestamp) -> String {
    id(at: now, letters: 12, of: Ids.hexadecimalDigits, thenRandom: 14)
  }

  /// Sorts by time as well: what waits longest stands first.
  func delivery(at now: Timestamp) -> String { audit(at: now) }

  /// Sorts as the moments do, whose letters come first: as many as are asked for, of an alphabet in the order of its
  /// bytes.
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
