package import Store

/// Fresh names for new things. None of them is ever derived from what a person typed.
package struct Ids: Sendable {
  private let randomness: any Randomness
  private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  package init(randomness: any Randomness) { self.randomness = randomness }

  package func account() -> String { base62(28) }

  /// Ids are ours, imported, or chosen by who mints custom tokens: 1 to 128 printable ASCII characters.
  static func isAccountID(_ text: String) -> Bool {
    1...128 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  /// 22 base62 characters hold 131 bits: a session id names its row in every token and must not be guessable. The time
  /// before them puts new sessions side by side in the store's index, where each would else touch a page of its own.
  package func session(at now: Timestamp) -> String { Ids.base62(max(0, now.millis), letters: 8) + base62(22) }

  package func attempt() -> String { base62(22) }

  func factor() -> String { base62(22) }

  /// Sorts by time, so that an audit table grows at its end.
  package func audit(at now: Timestamp) -> String {
    let hex = String(now.millis, radix: 16)
    return String(repeating: "0", count: max(0, 12 - hex.count)) + hex + base62(14)
  }

  /// Sorts by time as well: what waits longest stands first.
  func delivery(at now: Timestamp) -> String { audit(at: now) }

  /// Sorts as the numbers do.
  private static func base62(_ number: Int64, letters count: Int) -> String {
    var (rest, letters) = (number, [UInt8](repeating: alphabet[0], count: count))
    for index in letters.indices.reversed() {
      letters[index] = alphabet[Int(rest % 62)]
      rest /= 62
    }
    return String(decoding: letters, as: UTF8.self)
  }

  private func base62(_ count: Int) -> String { randomness.text(count, of: Ids.alphabet) }
}
