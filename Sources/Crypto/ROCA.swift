/// The fingerprint of the factorable RSA keys that Infineon's library made before 2017 (CVE-2017-15361, ROCA).
///
/// Each of their primes is `k * M + 65537^a mod M`, where `M` is the product of the first primes. The modulus is
/// therefore a power of 65537 modulo every small prime. About one sound key in 2^27 has the same fingerprint.
enum ROCA {
  /// Factors of `M` for every affected key size.
  static let primes: [UInt32] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113,
    127, 131, 137, 139, 149, 151, 157, 163, 167,
  ]

  /// Returns whether a modulus has the fingerprint.
  ///
  /// - Parameter modulus: big-endian.
  static func isFingerprint(of modulus: [UInt8]) -> Bool {
    primes.allSatisfy { prime in
      isPower(modulus.reduce(0) { rest, byte in (rest << 8 | UInt32(byte)) % prime }, modulo: prime)
    }
  }

  /// Returns whether `number` is a power of 65537.
  private static func isPower(_ number: UInt32, modulo prime: UInt32) -> Bool {
    var power: UInt32 = 1
    repeat {
      if power == number { return true }
      power = power * (65_537 % prime) % prime
    } while power != 1
    return false
  }
}
