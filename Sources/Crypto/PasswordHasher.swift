internal import CSodium

/// Argon2id (RFC 9106) in PHC strings, through libsodium.
///
/// Synchronous and slow by design: 19 MiB and about 10 ms a call at the default parameters, so callers bound how many
/// run at once. A password comes here normalised and without NUL.
package struct PasswordHasher: Sendable {
  package let memoryKiB: Int
  package let iterations: Int
  /// A hash of a password that nobody knows, under the same parameters: verifying against it makes an account that does
  /// not exist, or has no password, cost the same as a wrong password.
  package let dummy: String

  /// The defaults are the floor that OWASP's password storage sheet gives for one lane.
  package init(memoryKiB: Int = 19_456, iterations: Int = 2) throws(CryptoError) {
    precondition(sodiumIsReady, "libsodium does not start")
    guard (Int(crypto_pwhash_argon2id_memlimit_min()) / 1024...4_194_303).contains(memoryKiB),
      (1...1_000).contains(iterations)
    else { throw .unusableHashParameters }
    self.memoryKiB = memoryKiB
    self.iterations = iterations
    dummy = try Self.hash(Random.bytes(32), memoryKiB, iterations)
  }

  /// Throws only when the memory is not to be had.
  package func hash(_ password: [UInt8]) throws(CryptoError) -> String {
    try Self.hash(password, memoryKiB, iterations)
  }

  /// False for a wrong password and for a string that is no Argon2id hash. Throws only when the memory is not to be
  /// had: that must not pass for a wrong password.
  package func verify(_ password: [UInt8], against phc: String) throws(CryptoError) -> Bool {
    try argon2Matches(unsafe lk_argon2id_verify(phc, password, password.count))
  }

  /// Whether the hash was made with other parameters than these, stronger ones included: all hashes alike is what makes
  /// all answers take the same time. True as well for a string that is no Argon2id hash.
  package func needsUpgrade(_ phc: String) -> Bool {
    unsafe lk_argon2id_needs_rehash(phc, UInt64(iterations), memoryKiB) != 0
  }

  private static func hash(
    _ password: [UInt8], _ memoryKiB: Int, _ iterations: Int
  ) throws(CryptoError) -> String {
    var text = [UInt8](repeating: 0, count: Int(crypto_pwhash_argon2id_strbytes()))
    guard unsafe lk_argon2id_hash(&text, password, password.count, UInt64(iterations), memoryKiB) == 0 else {
      throw .outOfMemory
    }
    return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// What a comparison of the shim says.
func argon2Matches(_ answer: Int32) throws(CryptoError) -> Bool {
  guard answer != LK_NO_MEMORY else { throw .outOfMemory }
  return answer == 0
}

/// libsodium chooses its implementation for this processor before anything else of it is called.
let sodiumIsReady = sodium_init() >= 0
