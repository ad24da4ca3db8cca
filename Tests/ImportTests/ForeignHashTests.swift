import Crypto
import Encodings
import Testing

@testable import Import

private func bytes(_ base64: String) throws -> [UInt8] { try #require(Base64.decode(Array(base64.utf8))) }

private func hex(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }

/// A published test vector.
private struct Known: CustomStringConvertible {
  var description: String
  var options: ForeignHashOptions
  var password: String
  var salt: [UInt8]
  var hash: [UInt8]

  init(
    _ description: String, _ algorithm: ForeignHashAlgorithm, password: String, salt: [UInt8] = [], hash: [UInt8],
    edit: (inout ForeignHashOptions) -> Void = { _ in }
  ) {
    self.description = description
    options = ForeignHashOptions(algorithm: algorithm)
    edit(&options)
    self.password = password
    self.salt = salt
    self.hash = hash
  }
}

private func known() throws -> [Known] { try firebase() + scrypts() + others() + texts() }

private func firebase() throws -> [Known] {
  let key = try bytes("jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==")
  return [
    Known(
      "the README of firebase/scrypt", .scrypt, password: "user1password", salt: try bytes("42xEC+ixf3L2lw=="),
      hash: try bytes(
        "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==")
    ) {
      $0.key = key
      $0.saltSeparator = [0x07]
      $0.rounds = 8
      $0.memoryCost = 14
    }
  ]
}

private func scrypts() throws -> [Known] {
  func scrypt(
    _ password: String, _ salt: String, _ n: Int, _ r: Int, _ p: Int, _ hash: String
  ) throws -> Known {
    Known(
      "RFC 7914 12, N \(n)", .standardScrypt, password: password, salt: Array(salt.utf8), hash: try hex(hash)
    ) {
      $0.memoryCost = n
      $0.blockSize = r
      $0.parallelization = p
      $0.derivedKeyBytes = 64
    }
  }
  return [
    try scrypt(
      "password", "NaCl", 1024, 8, 16,
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830da"
        + "c727afb94a83ee6d8360cbdfa2cc0640"),
    try scrypt(
      "pleaseletmein", "SodiumChloride", 16384, 8, 1,
      "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9"
        + "e61e85dc0d651e40dfcf017b45575887"),
  ]
}

private func others() throws -> [Known] {
  func pbkdf2(_ name: String, _ algorithm: ForeignHashAlgorithm, _ rounds: Int, _ hash: String) throws -> Known {
    Known(name, algorithm, password: "password", salt: Array("salt".utf8), hash: try hex(hash)) { $0.rounds = rounds }
  }
  func digest(_ algorithm: ForeignHashAlgorithm, _ password: String, _ hash: String) throws -> Known {
    Known("\(algorithm) of \(password)", algorithm, password: password, hash: try hex(hash)) { $0.rounds = 1 }
  }
  func code(_ name: String, _ algorithm: ForeignHashAlgorithm, _ hash: String) throws -> Known {
    Known(name, algorithm, password: "what do ya want for nothing?", hash: try hex(hash)) {
      $0.key = Array("Jefe".utf8)
    }
  }
  return [
    try pbkdf2("RFC 6070, 1 iteration", .pbkdfSha1, 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
    try pbkdf2("RFC 6070, 4096 iterations", .pbkdfSha1, 4096, "4b007901b765489abead49d926f721d065a429c1"),
    try pbkdf2(
      "the common answer for SHA-256, 4096 iterations", .pbkdf2Sha256, 4096,
      "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"),
    try digest(.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
    try digest(.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    try digest(.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    try digest(
      .sha512, "abc",
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
        + "454d4423643ce80e2a9ac94fa54ca49f"),
    try code("RFC 2202, MD5 2", .hmacMd5, "750c783e6ab0b503eaa86e310a5db738"),
    try code("RFC 2202, SHA-1 2", .hmacSha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    try code(
      "RFC 4231 4.3, SHA-256", .hmacSha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    try code(
      "RFC 4231 4.3, SHA-512", .hmacSha512,
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
        + "caeab1a34d4a6b4b636e070a38bce737"),
  ]
}

private func texts() throws -> [Known] {
  func text(_ name: String, _ algorithm: ForeignHashAlgorithm, _ password: String, _ hash: String) -> Known {
    Known(name, algorithm, password: password, hash: Array(hash.utf8))
  }
  return [
    text(
      "Openwall's crypt_blowfish, 2a", .bcrypt, "U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    text(
      "Openwall's crypt_blowfish, 2y", .bcrypt, "U*U*",
      "$2y$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
    text(
      "the reference of Argon2, i", .argon2, "password",
      "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA"),
  ]
}

private func stored(_ known: Known) throws -> ForeignHash {
  let scheme = try ForeignHashScheme(known.options, keyID: "the-key")
  return try #require(ForeignHash(try scheme.text(hash: known.hash, salt: known.salt)))
}

@Test func `every kind matches the password of its published vector, and no other`() throws {
  for known in try known() {
    let (hash, key) = (try stored(known), Secret(copying: known.options.key))
    #expect(try hash.matches(Array(known.password.utf8), key: key), "\(known)")
    #expect(try !hash.matches(Array((known.password + "x").utf8), key: key), "\(known)")
    #expect(try !hash.matches([], key: key), "\(known)")
  }
}

@Test func `the text of a hash reads back unchanged, and is not mistaken for an own hash`() throws {
  for known in try known() {
    let hash = try stored(known)
    #expect(ForeignHash(hash.text) == hash, "\(hash.text)")
    #expect(!hash.text.contains("$argon2id$"))
  }
  #expect(ForeignHash("$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA") == nil)
  for text in ["", "no hash", "$scrypt$n=1024$c2FsdA$aGFzaA", "$other$i=1$c2FsdA$aGFzaA", "$md5$i=1,o=ps$?$aGFzaA"] {
    #expect(ForeignHash(text) == nil, "\(text)")
  }
}

@Test func `a row contains all parameters except the key, and the name of the key`() throws {
  let known = try firebase()[0]
  let hash = try stored(known)
  #expect(hash.keyID == "the-key")
  #expect(hash.text.hasPrefix("$firebase-scrypt$k=the-key,ln=14,r=8,s=Bw$42xEC+ixf3L2lw$"))
  let key = String(decoding: Base64.encode(known.options.key), as: UTF8.self)
  #expect(!hash.text.contains(key.prefix(20)))
  #expect(try !hash.matches(Array(known.password.utf8), key: nil), "without the key nothing matches")
  let otherKey = Secret(copying: known.options.key.reversed())
  #expect(try !hash.matches(Array(known.password.utf8), key: otherKey))
}

@Test func `salt and password are hashed in the configured order`() throws {
  for (saltFirst, text) in [(false, "abc"), (true, "cab")] {
    var options = ForeignHashOptions(algorithm: .sha256)
    options.rounds = 1
    options.saltFirst = saltFirst
    let hash = sha256(Array(text.utf8))
    let made = try ForeignHashScheme(options, keyID: "").text(hash: hash, salt: [UInt8(ascii: "c")])
    #expect(try ForeignHash(made)?.matches(Array("ab".utf8), key: nil) == true, "\(saltFirst)")
  }
}

@Test func `each further round is the digest of the digest`() throws {
  var options = ForeignHashOptions(algorithm: .sha256)
  options.rounds = 3
  let hash = sha256(sha256(sha256(Array("abc".utf8))))
  let made = try ForeignHashScheme(options, keyID: "").text(hash: hash, salt: [])
  #expect(try ForeignHash(made)?.matches(Array("abc".utf8), key: nil) == true)
}

@Test func `check 102: bcrypt takes a password of 72 bytes, and a longer one is not cut to its beginning`() throws {
  // Made by libxcrypt from 72 letters a; 80 letters would give the same hash.
  let hash = "$2b$04$abcdefghijklmnopqrstuu"
  let long = [UInt8](repeating: UInt8(ascii: "a"), count: 80)
  let made = try Bcrypt.made(of: Array(long.prefix(72)), hash)
  #expect(made?.count == 60)
  #expect(try Bcrypt.matches(Array(long.prefix(72)), made ?? ""))
  #expect(try !Bcrypt.matches(long, made ?? ""))
  #expect(try !Bcrypt.matches(Array(long.prefix(71)), made ?? ""))
}
