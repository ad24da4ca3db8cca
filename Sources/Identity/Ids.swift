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
    var letters: [UInt8] = []
    letters.reserveCapacity(30)
    Ids.append(max(0, now.millis), letters: 8, of: Ids.alphabet, to: &letters)
    randomness.append(22, of: Ids.alphabet, to: &letters)
    return String(decoding: letters, as: UTF8.self)
  }

  package func attempt() -> String { base62(22) }

  func factor() -> String { base62(22) }

  /// Sorts by time, so that an audit table grows at its end.
  package func audit(at now: Timestamp) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity(26)
    Ids.append(max(0, now.millis), letters: 12, of: Ids.hexadecimalDigits, to: &letters)
    randomness.append(14, of: Ids.alphabet, to: &letters)
    return String(decoding: letters, as: UTF8.self)
  }

  /// Sorts by time as well: what waits longest stands first.
  func delivery(at now: Timestamp) -> String { audit(at: now) }

  /// Sorts as the numbers do.
  private static func append(
    _ number: Int64, letters count: Int, of alphabet: [UInt8], to letters: inout [UInt8]
  ) {
    let base = Int64(alphabet.count)
    var rest = number
    let start = letters.count
    letters.append(contentsOf: repeatElement(alphabet[0], count: count))
    for index in (start..<letters.count).reversed() {
      letters[index] = alphabet[Int(rest % base)]
      rest /= base
    }
  }

  private func base62(_ count: Int) -> String { randomness.text(count, of: Ids.alphabet) }
}
