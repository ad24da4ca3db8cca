import Encodings
package import Store

/// One-time passwords by time (RFC 6238), as every authenticator program computes them: HMAC-SHA-1, six digits, steps
/// of 30 seconds.
package enum TOTP {
  package static let digits = 6
  package static let stepMillis: Int64 = 30_000
  /// By how many steps a person's clock may be wrong, to either side.
  package static let windowSteps: Int64 = 1
  /// As long as what the HMAC puts out (RFC 4226 4, R6).
  package static let secretBytes = 20

  package static func step(at now: Timestamp) -> Int64 { now.millis / stepMillis }

  /// RFC 4226 5.3.
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

  /// The step that a code is of, where it is near enough and later than the last one used; nil: it is not good.
  package static func step(
    of code: String, _ secret: [UInt8], after lastStep: Int64?, at now: Timestamp, _ cryptography: any Cryptography
  ) -> Int64? {
    let current = step(at: now)
    var found: Int64?
    // All are computed and compared, whichever matches: the time tells nothing.
    for step in (current - windowSteps)...(current + windowSteps) {
      let expected = Array(TOTP.code(secret, step: step, cryptography).utf8)
      let matches = cryptography.equal(expected, Array(code.utf8))
      if matches, found == nil, lastStep.map({ step > $0 }) ?? true { found = step }
    }
    return found
  }

  /// What an authenticator program reads from a QR code.
  static func uri(secret: [UInt8], issuer: String, account: String) -> String {
    let (issuer, account) = (PercentEncoding.encode(issuer), PercentEncoding.encode(account))
    return "otpauth://totp/\(issuer):\(account)?secret=\(Base32.encode(secret))&issuer=\(issuer)"
      + "&algorithm=SHA1&digits=\(digits)&period=\(stepMillis / 1_000)"
  }
}
