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

/// How the former service hashed passwords, in the terms of Firebase's importer.
package struct ForeignHashOptions: Hashable, Sendable {
  package var algorithm: String
  package var key: [UInt8] = []
  package var saltSeparator: [UInt8] = []
  package var rounds = 0
  package var memoryCost = 0
  package var parallelization = 0
  package var blockSize = 0
  package var derivedKeyBytes = 0
  package var inputOrder = ""

  package init(algorithm: String) { self.algorithm = algorithm }
}

/// The maximum cost of comparing one hash, about 1 s and 256 MiB. Rows and options cannot exceed it.
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
  package static let pbkdf2Rounds = 1...1_000_000
  package static let digestRounds = 0...8_192
  package static let bcryptCost = 4...14
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
    case bcrypt
    case argon2(memoryKiB: Int, iterations: Int, lanes: Int)
  }

  private let kind: Kind
  private let hashBytes: ClosedRange<Int>

  /// Returns whether hashes of this algorithm need the former service's key.
  package static func takesKey(_ algorithm: String) -> Bool { algorithm == "SCRYPT" || algorithm.hasPrefix("HMAC_") }

  /// Checks the parameters that all hashes share. `text` checks those of each hash. Both checks run before any hashing.
  ///
  /// - Parameter keyID: id of `options.key`, if the algorithm needs a key.
  package init(_ options: ForeignHashOptions, keyID: String) throws(ForeignHashError) {
    let bounds = ForeignHashBounds.self
    let takesKey = Self.takesKey(options.algorithm)
    try check("key", options.key.count, takesKey ? bounds.keyBytes : 0...0, "bytes")
    try check("salt_separator", options.saltSeparator.count, 0...bounds.separatorBytesMax, "bytes")
    var hashBytes = bounds.hashBytes
    let algorithm = options.algorithm
    let saltFirst = try Self.saltFirst(options)
    if algorithm == "BCRYPT" {
      kind = .bcrypt
    } else if algorithm == "ARGON2" {
      kind = .argon2(
        memoryKiB: options.memoryCost, iterations: options.rounds, lanes: max(1, options.parallelization))
    } else {
      let recipe: ForeignHash.Recipe
      if algorithm == "SCRYPT" {
        recipe = .firebaseScrypt(
          keyID: keyID, separator: options.saltSeparator, rounds: options.rounds, memoryCost: options.memoryCost)
        hashBytes = options.key.count...options.key.count
      } else if algorithm == "STANDARD_SCRYPT" {
        recipe = .scrypt(
          n: options.memoryCost, blockSize: options.blockSize, parallelization: options.parallelization)
        if options.derivedKeyBytes != 0 {
          try check("derived_key_bytes", options.derivedKeyBytes, bounds.hashBytes, "bytes")
          hashBytes = options.derivedKeyBytes...options.derivedKeyBytes
        }
      } else if let digest = ["PBKDF_SHA1": ForeignDigest.sha1, "PBKDF2_SHA256": .sha256][algorithm] {
        recipe = .pbkdf2(digest, iterations: options.rounds)
      } else if algorithm.hasPrefix("HMAC_"), let digest = ForeignDigest(named: algorithm.dropFirst(5)) {
        recipe = .hmac(digest, keyID: keyID, saltFirst: saltFirst)
        hashBytes = digest.byteCount...digest.byteCount
      } else if let digest = ForeignDigest(named: algorithm[...]) {
        recipe = .digest(digest, rounds: options.rounds, saltFirst: saltFirst)
        hashBytes = digest.byteCount...digest.byteCount
      } else {
        throw ForeignHashError("algorithm", "The algorithm is not supported.")
      }
      try recipe.checkCost()
      kind = .recipe(recipe)
    }
    self.hashBytes = hashBytes
  }

  /// Returns the text of one row's hash.
  package func text(hash: [UInt8], salt: [UInt8]) throws(ForeignHashError) -> String {
    switch kind {
    case .recipe(let recipe):
      try check("password_hash", hash.count, hashBytes, "bytes")
      try check("salt", salt.count, 0...ForeignHashBounds.saltBytesMax, "bytes")
      return ForeignHash(recipe, salt: salt, hash: hash).text
    case .bcrypt: return try bcryptText(hash)
    case .argon2(let memoryKiB, let iterations, let lanes):
      if hash.starts(with: "$argon2".utf8) { return try Argon2Text(String(decoding: hash, as: UTF8.self)).text }
      return try Argon2Text(
        memoryKiB: memoryKiB, iterations: iterations, lanes: lanes, salt: salt, hash: hash).text
    }
  }

  private static func saltFirst(_ options: ForeignHashOptions) throws(ForeignHashError) -> Bool {
    switch options.inputOrder {
    case "", "PASSWORD_FIRST": return false
    case "SALT_FIRST": return true
    default: throw ForeignHashError("input_order", "It must be SALT_FIRST or PASSWORD_FIRST.")
    }
  }

  /// Checks a text such as `$2b$10$` with 53 more characters. `2x` marks hashes of a faulty library and is rejected.
  private func bcryptText(_ hash: [UInt8]) throws(ForeignHashError) -> String {
    let text = String(decoding: hash, as: UTF8.self)
    guard text.utf8.count == Bcrypt.hashByteCount,
      let match = text.wholeMatch(of: /\$2[aby]\$([0-9]{2})\$[.\/A-Za-z0-9]{53}/), let cost = Int(match.1)
    else { throw ForeignHashError("password_hash", "It must be a bcrypt text of the kind 2a, 2b or 2y.") }
    try check("password_hash", cost, ForeignHashBounds.bcryptCost, "as its bcrypt cost")
    return text
  }
}

extension ForeignDigest {
  fileprivate init?(named name: Substring) { self.init(rawValue: name.lowercased()) }
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
