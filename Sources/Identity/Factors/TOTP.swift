import Encodings
package import Store

/// Time-based one-time passwords (RFC 6238) as every authenticator app computes them: HMAC-SHA-1, six digits, steps of
/// 30 seconds.
package enum TOTP {
  package static let digits = 6
  package static let stepMillis: Int64 = 30_000
  /// The number of steps that a user's clock may be wrong, in either direction.
  package static let windowSteps: Int64 = 1
  /// The length of the HMAC output (RFC 4226, 4, R6).
  package static let secretBytes = 20

  package static func step(at now: Timestamp) -> Int64 { now.millis / stepMillis }

  /// Computes the code of a step (RFC 4226, 5.3).
  package static func code(
    _ secret: [UInt8], step: Int64, digits: Int = digits, _ cryptography: any Cryptography
  ) -> String {
    var counter = Packer()
    counter.append(step)
    let mac = cryptography.hmacSHA1(key: secret, counter.bytes)
    let offset = Int(mac[mac.count - 1] & 0x0F)
    var number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    var letters = [UInt8](repeating: UInt8(ascii: "0"), count: digits)
    for index in letters.indices.reversed() {
      letters[index] += UInt8(number % 10)
      number /= 10
    }
    return String(decoding: letters, as: UTF8.self)
  }

  /// Returns the step of a code that is within the window and later than the last used step. nil: the code is invalid.
  package static func step(
    of code: String, _ secret: [UInt8], after lastStep: Int64?, at now: Timestamp, _ cryptography: any Cryptography
  ) -> Int64? {
    let current = step(at: now)
    var found: Int64?
    // Computes and compares every step even after a match, so that the time reveals nothing.
    for step in (current - windowSteps)...(current + windowSteps) {
      let expected = Array(TOTP.code(secret, step: step, cryptography).utf8)
      let matches = cryptography.equal(expected, Array(code.utf8))
      if matches, found == nil, lastStep.map({ step > $0 }) ?? true { found = step }
    }
    return found
  }

  /// Returns the URI that an authenticator app reads from a QR code.
  static func uri(secret: [UInt8], issuer: String, account: String) -> String {
    let (issuer, account) = (PercentEncoding.encode(issuer), PercentEncoding.encode(account))
    return "otpauth://totp/\(issuer):\(account)?secret=\(Base32.encode(secret))&issuer=\(issuer)"
      + "&algorithm=SHA1&digits=\(digits)&period=\(stepMillis / 1_000)"
  }
}
