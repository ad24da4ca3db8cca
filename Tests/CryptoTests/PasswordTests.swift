import Crypto
import Testing

struct PasswordTests {
  /// Parameters far below the minimum, so that the tests take milliseconds.
  let hasher: PasswordHasher
  let password = Array("pässword".utf8)

  init() throws {
    hasher = try PasswordHasher(memoryKiB: 1_024, iterations: 2)
  }

  @Test func `the default is Argon2id with 19 MiB, two passes and one lane (check 102)`() throws {
    let hasher = try PasswordHasher()
    let phc = try hasher.hash(password)
    #expect(phc.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
    #expect(try hasher.verify(password, against: phc))
    #expect(try hasher.verify(password, against: Vectors.argon2idDefault))
  }

  @Test func `a hash made by another library verifies, and only for its own password`() throws {
    #expect(try hasher.verify(password, against: Vectors.argon2idSmall))
    #expect(try !hasher.verify(Array("password".utf8), against: Vectors.argon2idSmall))
    #expect(try !hasher.verify(password + [0], against: Vectors.argon2idSmall))
    #expect(try !hasher.verify([], against: Vectors.argon2idSmall))
  }

  @Test func `a hash with a salt of another length verifies, and only for its own password`() throws {
    #expect(try hasher.verify(Array("password".utf8), against: Vectors.argon2idShortSalt))
    #expect(try !hasher.verify(password, against: Vectors.argon2idShortSalt))
  }

  @Test func `two hashes of one password differ, and each verifies`() throws {
    let first = try hasher.hash(password)
    let second = try hasher.hash(password)
    #expect(first != second)
    for phc in [first, second] { #expect(try hasher.verify(password, against: phc)) }
  }

  @Test func `a password of 1024 bytes counts to its last byte (check 102: nothing is cut silently)`() throws {
    let long = [UInt8](repeating: 0x61, count: 1_024)
    let phc = try hasher.hash(long)
    #expect(try hasher.verify(long, against: phc))
    #expect(try !hasher.verify(long.dropLast() + [0x62], against: phc))
  }

  @Test func `the dummy has the parameters of real hashes, so an unknown account costs the same (check 35)`() throws {
    #expect(hasher.dummy.hasPrefix("$argon2id$v=19$m=1024,t=2,p=1$"))
    #expect(!hasher.needsUpgrade(hasher.dummy))
    #expect(try !hasher.verify(password, against: hasher.dummy))
    #expect(try PasswordHasher(memoryKiB: 1_024, iterations: 2).dummy != hasher.dummy)
  }

  @Test func `a hash of other parameters needs an upgrade, one of the same does not (check 102)`() throws {
    #expect(!hasher.needsUpgrade(try hasher.hash(password)))
    #expect(hasher.needsUpgrade(Vectors.argon2idDefault))
    #expect(try PasswordHasher(memoryKiB: 1_024, iterations: 3).needsUpgrade(hasher.dummy))
    #expect(try PasswordHasher(memoryKiB: 2_048, iterations: 2).needsUpgrade(hasher.dummy))
  }

  @Test func `text that is not an Argon2id hash verifies nothing and needs an upgrade`() throws {
    let (salt, hash) = ("AAECAwQFBgcICQoLDA0ODw", "cPBhWHDCCuC0Z83u1h6Jp44YIU2yasKVTFb+yQkiadM")
    for phc in [
      "", "$argon2id$", "$2b$10$abcdefghijklmnopqrstuv", "$argon2i$v=19$m=1024,t=2,p=1$AAAA$AAAA", "plain",
      "$argon2id$v=19$m=1,t=2,p=1$\(salt)$\(hash)", "$argon2id$v=19$m=1024,t=0,p=1$\(salt)$\(hash)",
      "$argon2id$v=19$m=1024,t=2,p=1$\(salt)", "$argon2id$v=19$m=1024,t=2,p=1$\(salt)$\(hash)?",
    ] {
      #expect(try !hasher.verify(password, against: phc))
      #expect(hasher.needsUpgrade(phc))
    }
  }

  @Test func `parameters that the library does not support stop the start`() {
    for (memoryKiB, iterations) in [(7, 2), (0, 2), (-1, 2), (4_194_304, 2), (1_024, 0), (1_024, 1_001)] {
      #expect(throws: CryptoError.unusableHashParameters) {
        try PasswordHasher(memoryKiB: memoryKiB, iterations: iterations)
      }
    }
  }

  @Test func `threads that hash at the same time all get the right hash`() async throws {
    let hasher = try PasswordHasher(memoryKiB: 2_500, iterations: 1)
    let phc = try hasher.hash(password)
    let right = password
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<20).allSatisfy { round in
            let isRight = round % 3 > 0
            return (try? hasher.verify(isRight ? right : right + [1], against: phc)) == isRight
          }
        }
      }
      for await allRight in group { #expect(allRight) }
    }
  }

  @Test func `a scrypt call without enough memory reports it`() {
    // A pebibyte: more than a process can address.
    #expect(throws: CryptoError.outOfMemory) {
      try scrypt(password, salt: [1], n: 1 << 40, blockSize: 8, parallelization: 1, byteCount: 32)
    }
  }
}
