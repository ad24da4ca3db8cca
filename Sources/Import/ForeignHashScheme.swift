internal import Crypto

/// The fault of the hash options, or of one hash.
package struct ForeignHashError: Error, Hashable, Sendable {
  /// The name of an import option, or `password_hash` or `salt` of a row.
  package var field: String
  package var why: String

  init(_ field: String, _ why: String) {
    self.field = field
    self.why = why
  }
}

/// The algorithms of Firebase's importer, under its names, and those of other frameworks.
package enum ForeignHashAlgorithm: String, Sendable, CaseIterable {
  case scrypt = "SCRYPT"
  case standardScrypt = "STANDARD_SCRYPT"
  case bcrypt = "BCRYPT"
  case argon2 = "ARGON2"
  case pbkdfSha1 = "PBKDF_SHA1"
  case pbkdf2Sha256 = "PBKDF2_SHA256"
  case hmacSha512 = "HMAC_SHA512"
  case hmacSha256 = "HMAC_SHA256"
  case hmacSha1 = "HMAC_SHA1"
  case hmacMd5 = "HMAC_MD5"
  case sha512 = "SHA512"
  case sha256 = "SHA256"
  case sha1 = "SHA1"
  case md5 = "MD5"
  case pbkdf2Sha512 = "PBKDF2_SHA512"
  case phpass = "PHPASS"
  case django = "DJANGO"
  case werkzeug = "WERKZEUG"

  /// Whether hashes of this algorithm need the former service's key.
  package var takesKey: Bool {
    switch self {
    case .scrypt, .hmacSha512, .hmacSha256, .hmacSha1, .hmacMd5: true
    case .standardScrypt, .bcrypt, .argon2, .pbkdfSha1, .pbkdf2Sha256, .pbkdf2Sha512, .sha512, .sha256, .sha1, .md5,
      .phpass, .django, .werkzeug:
      false
    }
  }
}

/// How the former service hashed passwords, in the terms of Firebase's importer.
package struct ForeignHashOptions: Hashable, Sendable {
  package var algorithm: ForeignHashAlgorithm
  package var key: [UInt8] = []
  package var saltSeparator: [UInt8] = []
  package var rounds = 0
  package var memoryCost = 0
  package var parallelization = 0
  package var blockSize = 0
  package var derivedKeyBytes = 0
  /// Whether HMAC, SHA and MD5 algorithms hash the salt before the password.
  package var saltFirst = false
  /// The operator's maximum, within `ForeignHashBounds.bcryptCost`.
  package var bcryptCostMax = 14

  package init(algorithm: ForeignHashAlgorithm) { self.algorithm = algorithm }
}

/// The maximum cost of comparing one hash: 256 MiB, and about 1 s, or 5 s for a slow one (`ForeignHash.isSlow`). Rows
/// and options cannot exceed it.
package enum ForeignHashBounds {
  package static let firebaseRounds = 1...8
  package static let firebaseMemoryCost = 1...14
  package static let keyBytes = 1...256
  package static let separatorBytesMax = 64
  package static let saltBytesMax = 256
  package static let hashBytes = 16...256
  /// scrypt: 128 × N × block size, in bytes.
  package static let scryptMemoryBytesMax = 128 << 20
  /// scrypt: N × block size × parallelization.
  package static let scryptWorkMax = 1 << 21
  /// PBKDF2: iterations, times the blocks of the digest that the hash consists of.
  package static let pbkdf2Rounds = 1...3_000_000
  package static let pbkdf2RoundsOfSlow = 1_000_001
  package static let digestRounds = 0...8_192
  /// An operator chooses the maximum, 14 by default.
  package static let bcryptCost = 4...16
  package static let bcryptCostOfSlow = 15
  /// phpass: the exponent of 2 that makes the rounds.
  package static let phpassExponent = 7...17
  package static let argon2MemoryKiB = 8...262_144
  package static let argon2Iterations = 1...16
  package static let argon2Lanes = 1...16
  /// Memory × iterations, in KiB.
  package static let argon2WorkKiBMax = 1 << 20
  package static let argon2TextBytesMax = 512
}

/// The conversion of each row's hash and salt to the text that the store keeps.
package struct ForeignHashScheme: Sendable {
  private enum Kind {
    case recipe(ForeignHash.Recipe)
    /// Each row contains the whole text.
    case bcrypt(costMax: Int)
    case phpass, werkzeug
    case django(bcryptCostMax: Int)
    case argon2(memoryKiB: Int, iterations: Int, lanes: Int)
  }

  private let kind: Kind
  private let hashBytes: ClosedRange<Int>

  /// Checks the parameters that all hashes share. `text` checks those of each hash. Both checks run before any hashing.
  ///
  /// - Parameter keyID: id of `options.key`, if the algorithm needs a key.
  package init(_ options: ForeignHashOptions, keyID: String) throws(ForeignHashError) {
    let bounds = ForeignHashBounds.self
    try check("key", options.key.count, options.algorithm.takesKey ? bounds.keyBytes : 0...0, "bytes")
    try check("salt_separator", options.saltSeparator.count, 0...bounds.separatorBytesMax, "bytes")
    switch options.algorithm {
    case .bcrypt: (kind, hashBytes) = (.bcrypt(costMax: options.bcryptCostMax), bounds.hashBytes)
    case .phpass: (kind, hashBytes) = (.phpass, bounds.hashBytes)
    case .django: (kind, hashBytes) = (.django(bcryptCostMax: options.bcryptCostMax), bounds.hashBytes)
    case .werkzeug: (kind, hashBytes) = (.werkzeug, bounds.hashBytes)
    case .argon2:
      kind = .argon2(
        memoryKiB: options.memoryCost, iterations: options.rounds, lanes: max(1, options.parallelization))
      hashBytes = bounds.hashBytes
    case .scrypt:
      hashBytes = options.key.count...options.key.count
      kind = try Self.recipe(
        .firebaseScrypt(
          keyID: keyID, separator: options.saltSeparator, rounds: options.rounds, memoryCost: options.memoryCost))
    case .standardScrypt:
      let bytes = options.derivedKeyBytes
      if bytes != 0 { try check("derived_key_bytes", bytes, bounds.hashBytes, "bytes") }
      hashBytes = bytes != 0 ? bytes...bytes : bounds.hashBytes
      kind = try Self.recipe(
        .scrypt(n: options.memoryCost, blockSize: options.blockSize, parallelization: options.parallelization))
    case .pbkdfSha1: (kind, hashBytes) = (try Self.pbkdf2(.sha1, options), bounds.hashBytes)
    case .pbkdf2Sha256: (kind, hashBytes) = (try Self.pbkdf2(.sha256, options), bounds.hashBytes)
    case .pbkdf2Sha512: (kind, hashBytes) = (try Self.pbkdf2(.sha512, options), bounds.hashBytes)
    case .hmacSha512: (kind, hashBytes) = (try Self.hmac(.sha512, options, keyID), ForeignDigest.sha512.hashBytes)
    case .hmacSha256: (kind, hashBytes) = (try Self.hmac(.sha256, options, keyID), ForeignDigest.sha256.hashBytes)
    case .hmacSha1: (kind, hashBytes) = (try Self.hmac(.sha1, options, keyID), ForeignDigest.sha1.hashBytes)
    case .hmacMd5: (kind, hashBytes) = (try Self.hmac(.md5, options, keyID), ForeignDigest.md5.hashBytes)
    case .sha512: (kind, hashBytes) = (try Self.digest(.sha512, options), ForeignDigest.sha512.hashBytes)
    case .sha256: (kind, hashBytes) = (try Self.digest(.sha256, options), ForeignDigest.sha256.hashBytes)
    case .sha1: (kind, hashBytes) = (try Self.digest(.sha1, options), ForeignDigest.sha1.hashBytes)
    case .md5: (kind, hashBytes) = (try Self.digest(.md5, options), ForeignDigest.md5.hashBytes)
    }
  }

  private static func recipe(_ recipe: ForeignHash.Recipe) throws(ForeignHashError) -> Kind {
    try recipe.checkCost()
    return .recipe(recipe)
  }

  private static func pbkdf2(
    _ digest: ForeignDigest, _ options: ForeignHashOptions
  ) throws(ForeignHashError) -> Kind {
    try recipe(.pbkdf2(digest, iterations: options.rounds))
  }

  private static func hmac(
    _ digest: ForeignDigest, _ options: ForeignHashOptions, _ keyID: String
  ) throws(ForeignHashError) -> Kind {
    try recipe(.hmac(digest, keyID: keyID, saltFirst: options.saltFirst))
  }

  private static func digest(
    _ digest: ForeignDigest, _ options: ForeignHashOptions
  ) throws(ForeignHashError) -> Kind {
    try recipe(.digest(digest, rounds: options.rounds, saltFirst: options.saltFirst))
  }

  /// Returns the text of one row's hash.
  package func text(hash: [UInt8], salt: [UInt8]) throws(ForeignHashError) -> String {
    switch kind {
    case .recipe(let recipe):
      try check("password_hash", hash.count, hashBytes, "bytes")
      try check("salt", salt.count, 0...ForeignHashBounds.saltBytesMax, "bytes")
      let made = ForeignHash(recipe, salt: salt, hash: hash)
      try made.checkWork("rounds")
      return made.text
    case .bcrypt(let costMax): return try bcryptText(hash, costMax: costMax)
    case .phpass: return try ForeignHash(phpass: String(decoding: hash, as: UTF8.self)).text
    case .werkzeug: return try ForeignHash(werkzeug: String(decoding: hash, as: UTF8.self)).text
    case .django(let costMax): return try djangoText(String(decoding: hash, as: UTF8.self), bcryptCostMax: costMax)
    case .argon2(let memoryKiB, let iterations, let lanes):
      if hash.starts(with: "$argon2".utf8) { return try Argon2Text(String(decoding: hash, as: UTF8.self)).text }
      return try Argon2Text(
        memoryKiB: memoryKiB, iterations: iterations, lanes: lanes, salt: salt, hash: hash).text
    }
  }
}

extension ForeignDigest {
  fileprivate var hashBytes: ClosedRange<Int> { byteCount...byteCount }
}

extension ForeignHash.Recipe {
  /// Checks the time and the memory that a comparison takes.
  func checkCost() throws(ForeignHashError) {
    let bounds = ForeignHashBounds.self
    switch self {
    case .firebaseScrypt(_, _, let rounds, let memoryCost):
      try check("rounds", rounds, bounds.firebaseRounds)
      try check("memory_cost", memoryCost, bounds.firebaseMemoryCost)
    case .scrypt(let n, let blockSize, let parallelization):
      try check("block_size", blockSize, 1...64)
      try check("parallelization", parallelization, 1...64)
      try check("memory_cost", n, 2...(bounds.scryptMemoryBytesMax / (128 * blockSize)))
      guard n.nonzeroBitCount == 1 else { throw ForeignHashError("memory_cost", "It must be a power of two.") }
      // RFC 7914, 6: N must be below 2^(16 × block size). Within these bounds only block size 1 can violate this.
      if blockSize == 1 { try check("memory_cost", n, 2...32_768) }
      try check("memory_cost", n * blockSize * parallelization, 1...bounds.scryptWorkMax, "for n * r * p")
    case .pbkdf2(_, let iterations): try check("rounds", iterations, bounds.pbkdf2Rounds)
    case .digest(let digest, let rounds, _):
      // Firebase accepts zero rounds for MD5 only, and then hashes once.
      try check("rounds", rounds, digest == .md5 ? bounds.digestRounds : 1...bounds.digestRounds.upperBound)
    case .phpass(let exponent): try check("rounds", exponent, bounds.phpassExponent)
    case .hmac, .bcrypt, .argon2i: break
    }
  }
}

func check(
  _ field: String, _ value: Int, _ bounds: ClosedRange<Int>, _ unit: String = ""
) throws(ForeignHashError) {
  guard bounds.contains(value) else {
    let range = bounds.count == 1 ? "\(bounds.lowerBound)" : "\(bounds.lowerBound) to \(bounds.upperBound)"
    throw ForeignHashError(field, "It must be \(range)\(unit.isEmpty ? "" : " " + unit), not \(value).")
  }
}
