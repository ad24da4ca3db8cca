internal import CSodium

/// Argon2id (RFC 9106) with PHC strings, through libsodium.
///
/// A call blocks for about 10 ms and takes 19 MiB at the default parameters, so callers bound how many run
/// concurrently. Passwords must be normalised and contain no NUL.
package struct PasswordHasher: Sendable {
  package let memoryKiB: Int
  package let iterations: Int
  /// A hash of an unknown password under the same parameters. Verifying against it makes a missing account or password
  /// cost the same as a wrong password.
  package let dummy: String
  /// How long the dummy took, as the first measurement of these parameters on this machine.
  package let dummyTook: Duration

  /// The defaults are the minimum of OWASP's password storage cheat sheet for one lane.
  package init(memoryKiB: Int = 19_456, iterations: Int = 2) throws(CryptoError) {
    precondition(sodiumIsReady, "libsodium does not start")
    guard (Int(crypto_pwhash_argon2id_memlimit_min()) / 1024...4_194_303).contains(memoryKiB),
      (1...1_000).contains(iterations)
    else { throw .unusableHashParameters }
    self.memoryKiB = memoryKiB
    self.iterations = iterations
    let begun = ContinuousClock.now
    dummy = try Self.hash(Random.bytes(32), memoryKiB, iterations)
    dummyTook = begun.duration(to: .now)
  }

  /// Hashes a password. Throws only `outOfMemory`.
  package func hash(_ password: [UInt8]) throws(CryptoError) -> String {
    try Self.hash(password, memoryKiB, iterations)
  }

  /// Returns whether the password matches. False also for a string that is not an Argon2id hash. Throws only
  /// `outOfMemory`, which must not count as a wrong password.
  package func verify(_ password: [UInt8], against phc: String) throws(CryptoError) -> Bool {
    try argon2Matches(unsafe lk_argon2id_verify(phc, password, password.count))
  }

  /// Returns whether the hash has other parameters than these, even stronger ones: only equal parameters make all
  /// response times equal. True also for a string that is not an Argon2id hash.
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

/// Converts the result of a comparison in the shim.
func argon2Matches(_ answer: Int32) throws(CryptoError) -> Bool {
  guard answer != LK_NO_MEMORY else { throw .outOfMemory }
  return answer == 0
}

/// Whether libsodium is initialised. It chooses its implementation for this processor before any other call.
let sodiumIsReady = sodium_init() >= 0
