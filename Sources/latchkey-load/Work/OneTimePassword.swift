internal import Crypto
internal import Encodings

/// The codes of an authenticator app (RFC 6238: HMAC-SHA-1, six digits, steps of 30 seconds).
///
/// This implementation is independent of the server's, so that it detects errors there.
struct OneTimePassword {
  private static let stepMillis: Int64 = 30_000
  private static let digits = 6

  private let key: Secret
  /// The step of the last code. Each step's code is valid once.
  private var lastStep = Int64.min

  /// Decodes a secret. Returns nil if it is not base32.
  ///
  /// - Parameter secret: the secret as a user would type it.
  init?(secret: String) {
    guard let bytes = Base32.decode(secret), !bytes.isEmpty else { return nil }
    key = Secret(copying: bytes)
  }

  /// Returns the code of the current step, or of the step after the last code.
  mutating func next(atMillis nowMillis: Int64) -> String {
    lastStep = max(nowMillis / OneTimePassword.stepMillis, lastStep + (lastStep == .min ? 0 : 1))
    return code(step: lastStep)
  }

  /// Computes the code of a step from 31 bits at the offset in the last four bits of the MAC (RFC 4226 5.3).
  func code(step: Int64) -> String {
    let mac = hmacSHA1(key: key, (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> ($0 * 8)) })
    let offset = Int(mac[19] & 0x0F)
    let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: OneTimePassword.digits - text.count) + text
  }
}
