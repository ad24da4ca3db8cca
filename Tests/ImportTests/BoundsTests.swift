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
  (.pbkdfSha1, 0, "rounds"), (.pbkdfSha1, 1, nil), (.pbkdf2Sha256, 1_000_000, nil),
  (.pbkdf2Sha256, 1_000_001, "rounds"), (.sha256, 0, "rounds"), (.sha256, 8_192, nil), (.sha512, 8_193, "rounds"),
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
func `bcrypt is accepted in its sound versions, within the maximum cost of a sign-in`(start: String, field: String?)
  throws
{
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
