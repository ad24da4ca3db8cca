import Testing

@testable import Import

private func options(
  _ algorithm: ForeignHashAlgorithm, _ edit: (inout ForeignHashOptions) -> Void
) -> ForeignHashOptions {
  var options = ForeignHashOptions(algorithm: algorithm)
  edit(&options)
  return options
}

private func refusedField(_ options: ForeignHashOptions) -> String? {
  do {
    _ = try ForeignHashScheme(options, keyID: "k")
    return nil
  } catch {
    return error.field
  }
}

private func firebase(rounds: Int = 8, memoryCost: Int = 14, keyBytes: Int = 64, separatorBytes: Int = 1) -> String? {
  refusedField(
    options(.scrypt) {
      $0.key = [UInt8](repeating: 1, count: keyBytes)
      $0.saltSeparator = [UInt8](repeating: 1, count: separatorBytes)
      $0.rounds = rounds
      $0.memoryCost = memoryCost
    })
}

@Test func `every parameter of Firebase's scrypt is bounded before any work`() {
  #expect(firebase() == nil && firebase(rounds: 1, memoryCost: 1, keyBytes: 1, separatorBytes: 0) == nil)
  for rounds in [0, 9, -1] { #expect(firebase(rounds: rounds) == "rounds") }
  for cost in [0, 15, 62] { #expect(firebase(memoryCost: cost) == "memory_cost") }
  for count in [0, 257] { #expect(firebase(keyBytes: count) == "key") }
  #expect(firebase(keyBytes: 256) == nil)
  #expect(firebase(separatorBytes: 64) == nil && firebase(separatorBytes: 65) == "salt_separator")
}

@Test(arguments: [
  (1 << 17, 8, 1, nil), (1 << 18, 8, 1, "memory_cost"), (16384, 8, 16, nil), (16384, 8, 17, "memory_cost"),
  (16383, 8, 1, "memory_cost"), (32768, 1, 1, nil), (65536, 1, 1, "memory_cost"), (65536, 2, 1, nil),
  (1, 8, 1, "memory_cost"), (0, 8, 1, "memory_cost"), (1024, 0, 1, "block_size"),
  (1024, 65, 1, "block_size"), (1024, 8, 0, "parallelization"), (1024, 8, 65, "parallelization"),
] as [(Int, Int, Int, String?)])
func `scrypt takes at most 128 MiB and a bounded time`(n: Int, r: Int, p: Int, field: String?) {
  let found = refusedField(
    options(.standardScrypt) {
      $0.memoryCost = n
      $0.blockSize = r
      $0.parallelization = p
    })
  #expect(found == field)
}

@Test(arguments: [
  (.pbkdfSha1, 0, "rounds"), (.pbkdfSha1, 1, nil), (.pbkdf2Sha256, 3_000_000, nil),
  (.pbkdf2Sha256, 3_000_001, "rounds"), (.pbkdf2Sha512, 3_000_000, nil), (.pbkdf2Sha512, 3_000_001, "rounds"),
  (.sha256, 0, "rounds"), (.sha256, 8_192, nil), (.sha512, 8_193, "rounds"),
  (.md5, 0, nil), (.md5, 8_193, "rounds"),
] as [(ForeignHashAlgorithm, Int, String?)])
func `rounds are bounded by the algorithm`(algorithm: ForeignHashAlgorithm, rounds: Int, field: String?) {
  #expect(refusedField(options(algorithm) { $0.rounds = rounds }) == field)
}

@Test func `a key is required by algorithms that use one, and rejected by others`() {
  #expect(refusedField(options(.hmacSha256) { _ in }) == "key")
  #expect(refusedField(options(.hmacSha256) { $0.key = [1] }) == nil)
  #expect(refusedField(options(.bcrypt) { $0.key = [1] }) == "key")
}

private func rowField(_ options: ForeignHashOptions, _ hash: [UInt8], salt: [UInt8] = []) throws -> String? {
  let scheme = try ForeignHashScheme(options, keyID: "k")
  do {
    _ = try scheme.text(hash: hash, salt: salt)
    return nil
  } catch {
    return error.field
  }
}

@Test func `a hash must have the length of its algorithm, since a short one would match too much`() throws {
  func hash(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
  let md5 = options(.md5) { $0.rounds = 1 }
  for (count, field) in [(0, "password_hash"), (15, "password_hash"), (16, nil), (17, "password_hash")] {
    #expect(try rowField(md5, hash(count)) == field)
  }
  let pbkdf2 = options(.pbkdf2Sha256) { $0.rounds = 1 }
  for (count, field) in [(15, "password_hash"), (16, nil), (256, nil), (257, "password_hash")] {
    #expect(try rowField(pbkdf2, hash(count)) == field)
  }
  let firebase = options(.scrypt) {
    $0.key = hash(64)
    ($0.rounds, $0.memoryCost) = (8, 14)
  }
  for (count, field) in [(63, "password_hash"), (64, nil), (65, "password_hash")] {
    #expect(try rowField(firebase, hash(count)) == field)
  }
  #expect(try rowField(md5, hash(16), salt: hash(256)) == nil)
  #expect(try rowField(md5, hash(16), salt: hash(257)) == "salt")
}

@Test(arguments: [
  ("$2a$04$", nil), ("$2b$14$", nil), ("$2y$10$", nil), ("$2b$15$", "password_hash"), ("$2b$03$", "password_hash"),
  ("$2x$10$", "password_hash"), ("$1$10$a", "password_hash"),
] as [(String, String?)])
func `bcrypt is accepted in its sound versions, up to cost 14 by default`(start: String, field: String?) throws {
  let text = start + String(repeating: "a", count: 53)
  #expect(try rowField(options(.bcrypt) { _ in }, Array(text.utf8)) == field)
  #expect(try rowField(options(.bcrypt) { _ in }, Array(text.utf8.dropLast())) == "password_hash")
}

@Test(arguments: [
  ("i", "v=19", "m=65536,t=2,p=1", nil), ("id", "v=19", "m=262144,t=4,p=1", nil),
  ("id", "v=19", "m=262145,t=1,p=1", "password_hash"), ("id", "v=19", "m=262144,t=5,p=1", "password_hash"),
  ("id", "v=19", "m=64,t=17,p=1", "password_hash"), ("id", "v=19", "m=7,t=1,p=1", "password_hash"),
  ("id", "v=19", "m=4096,t=1,p=17", "password_hash"), ("d", "v=19", "m=64,t=1,p=1", "password_hash"),
  ("id", "v=16", "m=64,t=1,p=1", "password_hash"), ("id", "v=19", "m=64,t=1", "password_hash"),
] as [(String, String, String, String?)])
func `Argon2 is accepted as Argon2i and Argon2id of version 19, within bounds`(
  kind: String, version: String, cost: String, field: String?
) throws {
  let text = "$argon2\(kind)$\(version)$\(cost)$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"
  #expect(try rowField(options(.argon2) { _ in }, Array(text.utf8)) == field)
}

@Test func `Argon2 hashes without their own parameters are Argon2id with the parameters of the options`() throws {
  let scheme = try ForeignHashScheme(
    options(.argon2) {
      ($0.memoryCost, $0.rounds, $0.parallelization) = (64, 3, 2)
    }, keyID: "")
  let text = try scheme.text(hash: [UInt8](repeating: 0, count: 32), salt: Array("somesalt".utf8))
  #expect(text.hasPrefix("$argon2id$v=19$m=64,t=3,p=2$c29tZXNhbHQ$AAAA"))
}

@Test(arguments: [
  (14, 14, nil), (14, 15, "password_hash"), (16, 16, nil), (16, 17, "password_hash"), (99, 17, "password_hash"),
] as [(Int, Int, String?)])
func `the operator chooses the maximum cost of bcrypt, up to 16`(costMax: Int, cost: Int, field: String?) throws {
  let text = "$2b$\(cost)$" + String(repeating: "a", count: 53)
  for (algorithm, row) in [(.bcrypt, text), (.django, "bcrypt$" + text)] as [(ForeignHashAlgorithm, String)] {
    #expect(try rowField(options(algorithm) { $0.bcryptCostMax = costMax }, Array(row.utf8)) == field)
  }
}

@Test(arguments: [
  (1_500_000, 128, nil), (1_500_001, 128, "rounds"), (3_000_000, 64, nil), (3_000_000, 65, "rounds"),
  (750_000, 256, nil), (750_001, 256, "rounds"),
] as [(Int, Int, String?)])
func `the rounds of PBKDF2 count for each block of a long hash`(rounds: Int, byteCount: Int, field: String?) throws {
  let hash = [UInt8](repeating: 7, count: byteCount)
  #expect(try rowField(options(.pbkdf2Sha512) { $0.rounds = rounds }, hash) == field)
}

@Test func `hashes of more than about a second are slow, and only those`() throws {
  func isSlow(_ algorithm: ForeignHashAlgorithm, _ hash: [UInt8], rounds: Int = 0) throws -> Bool? {
    let scheme = try ForeignHashScheme(
      options(algorithm) {
        ($0.rounds, $0.bcryptCostMax) = (rounds, 16)
      }, keyID: "")
    return ForeignHash(try scheme.text(hash: hash, salt: []))?.isSlow
  }
  let rest = String(repeating: "a", count: 53)
  #expect(try isSlow(.bcrypt, Array("$2b$14$\(rest)".utf8)) == false)
  #expect(try isSlow(.bcrypt, Array("$2b$15$\(rest)".utf8)) == true)
  let hash = [UInt8](repeating: 7, count: 64)
  #expect(try isSlow(.pbkdf2Sha512, hash, rounds: 1_000_000) == false)
  #expect(try isSlow(.pbkdf2Sha512, hash, rounds: 1_000_001) == true)
  #expect(try isSlow(.pbkdf2Sha256, hash, rounds: 500_001) == true, "two blocks of SHA-256")
}

private let hash64 = String(repeating: "ab", count: 64)
private let base64Of32 = String(repeating: "A", count: 43) + "="

@Test(arguments: [
  (.werkzeug, "scrypt:32768:8:1$salt$" + hash64, true), (.werkzeug, "scrypt:32768:8$salt$" + hash64, false),
  (.werkzeug, "scrypt:32768:8:1:1$salt$" + hash64, false), (.werkzeug, "scrypt:32767:8:1$salt$" + hash64, false),
  (.werkzeug, "scrypt:1048576:8:1$salt$" + hash64, false), (.werkzeug, "scrypt:-2:8:1$salt$" + hash64, false),
  (.werkzeug, "scrypt:32768:0:1$salt$" + hash64, false), (.werkzeug, "pbkdf2:sha256:3000000$salt$" + hash64, false),
  (.werkzeug, "pbkdf2:sha512:3000000$salt$" + hash64, true), (.werkzeug, "pbkdf2:sha512:3000001$s$" + hash64, false),
  (.werkzeug, "pbkdf2:sha256$salt$" + hash64, false), (.werkzeug, "pbkdf2:md5:1000$salt$" + hash64, false),
  (.werkzeug, "pbkdf2:sha256:1$salt$abc", false), (.werkzeug, "pbkdf2:sha256:1$salt$zz", false),
  (.werkzeug, "pbkdf2:sha256:99999999999999999999$salt$" + hash64, false), (.werkzeug, "", false),
  (.werkzeug, "plain$$secret", false), (.werkzeug, "pbkdf2:sha256:1$salt$abab", false),
  (.django, "pbkdf2_sha256$600000$salt$" + base64Of32, true), (.django, "pbkdf2_sha256$0$salt$" + base64Of32, false),
  (.django, "pbkdf2_sha256$3000001$salt$" + base64Of32, false), (.django, "pbkdf2_sha256$+1$salt$" + base64Of32, false),
  (.django, "pbkdf2_sha256$1$salt$?", false), (.django, "scrypt$16384$salt$8$5$" + base64Of32, true),
  (.django, "scrypt$16384$salt$8$" + base64Of32, false), (.django, "scrypt$262144$salt$8$1$" + base64Of32, false),
  (.django, "bcrypt_sha256$$2b$12$" + String(repeating: "a", count: 53), false), (.django, "md5$salt$abcd", false),
  (.django, "!unusable", false), (.django, "", false),
  (.django, "argon2$argon2d$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$", false),
  (.phpass, "$P$B12345678" + String(repeating: ".", count: 22), true),
  (.phpass, "$H$F12345678" + String(repeating: ".", count: 22), true),
  (.phpass, "$P$G12345678" + String(repeating: ".", count: 22), false),
  (.phpass, "$P$412345678" + String(repeating: ".", count: 22), false),
  (.phpass, "$P$B12345678" + String(repeating: "z", count: 22), false),
  (.phpass, "$P$B12345678" + String(repeating: ".", count: 21), false),
  (.phpass, "$P$B12345678" + String(repeating: "?", count: 22), false), (.phpass, "$S$B12345678", false),
] as [(ForeignHashAlgorithm, String, Bool)])
func `texts of frameworks are accepted within the same bounds, and otherwise name the hash`(
  algorithm: ForeignHashAlgorithm, text: String, isAccepted: Bool
) throws {
  #expect(try rowField(options(algorithm) { _ in }, Array(text.utf8)) == (isAccepted ? nil : "password_hash"))
}
