internal import Crypto
internal import Encodings

/// The codes of an authenticator program (RFC 6238: HMAC-SHA-1, six digits, steps of 30 seconds), computed here a
/// second time: a server that computed them wrongly would agree with itself.
struct OneTimePassword {
  private static let stepMillis: Int64 = 30_000
  private static let digits = 6

  private let key: Secret
  /// Each step's code is good once.
  private var lastStep = Int64.min

  /// - Parameter secret: as it is typed by hand; nil where it is no base32.
  init?(secret: String) {
    guard let bytes = Base32.decode(secret), !bytes.isEmpty else { return nil }
    key = Secret(copying: bytes)
  }

  /// Of the present step, or of the one after the last.
  mutating func next(atMillis nowMillis: Int64) -> String {
    lastStep = max(nowMillis / OneTimePassword.stepMillis, lastStep + (lastStep == .min ? 0 : 1))
    return code(step: lastStep)
  }

  /// RFC 4226 5.3: 31 bits from where the last half byte points to.
  func code(step: Int64) -> String {
    let mac = hmacSHA1(key: key, (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> ($0 * 8)) })
    let offset = Int(mac[19] & 0x0F)
    let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: OneTimePassword.digits - text.count) + text
  }
}
