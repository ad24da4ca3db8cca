// Import: foreign account files and their password hashes.
//
// Owns: the parts of another service's hash, its text form in our store, the bounds of its cost, its comparison with a
// password, and the reading of account files.
// Does not own: the algorithms (Crypto), what becomes of an imported account (Identity), where keys are stored.
// Read next: ForeignHashScheme.swift, FirebaseExport.swift.

package import Crypto
internal import Encodings

/// A password hash that another service made, as the store keeps it.
///
/// Its text is `$name$parameters$salt$hash` with base64 as in PHC strings, or the native text of bcrypt or Argon2. The
/// text contains everything but the other service's key, of which it has the id. A hash is used for one sign-in, which
/// replaces it with a hash of ours.
package struct ForeignHash: Hashable, Sendable {
  enum Recipe: Hashable, Sendable {
    /// Firebase's own scheme: the service's key, encrypted under the scrypt output of the password.
    case firebaseScrypt(keyID: String, separator: [UInt8], rounds: Int, memoryCost: Int)
    case scrypt(n: Int, blockSize: Int, parallelization: Int)
    case pbkdf2(ForeignDigest, iterations: Int)
    case hmac(ForeignDigest, keyID: String, saltFirst: Bool)
    /// The digest, then repeatedly the digest of the result.
    case digest(ForeignDigest, rounds: Int, saltFirst: Bool)
    /// MD5 of salt and password, then 2^exponent times of the result and the password.
    case phpass(exponent: Int)
    case bcrypt(String)
    case argon2i(String)
  }

  let recipe: Recipe
  let salt: [UInt8]
  let hash: [UInt8]

  init(_ recipe: Recipe, salt: [UInt8] = [], hash: [UInt8] = []) {
    self.recipe = recipe
    self.salt = salt
    self.hash = hash
  }

  /// The id of the key that a comparison needs; nil if it needs none.
  package var keyID: String? {
    switch recipe {
    case .firebaseScrypt(let id, _, _, _), .hmac(_, let id, _): id
    default: nil
    }
  }

  /// The label that hashes with the same computing time share.
  package var pace: String {
    switch recipe {
    case .bcrypt(let text): String(text.prefix(7))
    case .argon2i(let text): String(text[..<(text.lastIndex(of: "$") ?? text.endIndex)].prefix(48))
    default: recipe.name + recipe.cost
    }
  }

  /// Whether a comparison may take longer than about a second. Such hashes have threads of their own, so that
  /// attempts at them do not keep other users waiting.
  package var isSlow: Bool {
    switch recipe {
    case .bcrypt(let text): Int(text.dropFirst(4).prefix(2)) ?? 0 >= ForeignHashBounds.bcryptCostOfSlow
    case .pbkdf2: work >= ForeignHashBounds.pbkdf2RoundsOfSlow
    default: false
    }
  }

  /// PBKDF2 repeats its iterations for each block of the digest. Other kinds do not depend on the length of the hash.
  private var work: Int {
    guard case .pbkdf2(let digest, let iterations) = recipe else { return 1 }
    return iterations * ((hash.count + digest.byteCount - 1) / digest.byteCount)
  }

  func checkWork(_ field: String) throws(ForeignHashError) {
    try check(field, work, ForeignHashBounds.pbkdf2Rounds, "over all blocks of the hash")
  }

  /// Returns whether the hash is that of the password. Throws only `outOfMemory`: the bounds of a recipe leave no other
  /// failure.
  ///
  /// - Parameter key: the key with the id `keyID`. If a required key is missing, nothing matches.
  package func matches(_ password: [UInt8], key: Secret?) throws(CryptoError) -> Bool {
    switch recipe {
    case .bcrypt(let text): return try Bcrypt.matches(password, text)
    case .argon2i(let text): return try argon2iMatches(password, text)
    default:
      guard let made = try made(of: password, key) else { return false }
      return constantTimeEquals(made, hash)
    }
  }

  private func made(of password: [UInt8], _ key: Secret?) throws(CryptoError) -> [UInt8]? {
    switch recipe {
    case .firebaseScrypt(_, let separator, let rounds, let memoryCost):
      guard let key else { return nil }
      let derived = try Crypto.scrypt(
        password, salt: salt + separator, n: 1 << memoryCost, blockSize: rounds, parallelization: 1, byteCount: 32)
      return try aes256CTR(key: derived, key)
    case .scrypt(let n, let blockSize, let parallelization):
      return try Crypto.scrypt(
        password, salt: salt, n: n, blockSize: blockSize, parallelization: parallelization, byteCount: hash.count)
    case .pbkdf2(let digest, let iterations):
      return try Crypto.pbkdf2(digest, password, salt: salt, iterations: iterations, byteCount: hash.count)
    case .hmac(let digest, _, let saltFirst):
      return key.map { digest.code(key: $0, of: saltFirst ? salt + password : password + salt) }
    case .digest(let digest, let rounds, let saltFirst):
      var made = digest.digest(saltFirst ? salt + password : password + salt)
      for _ in 1..<max(1, rounds) { made = digest.digest(made) }
      return made
    case .phpass(let exponent):
      var made = ForeignDigest.md5.digest(salt + password)
      for _ in 0..<(1 << exponent) { made = ForeignDigest.md5.digest(made + password) }
      return made
    case .bcrypt, .argon2i: return nil
    }
  }
}

// MARK: text form

extension ForeignHash.Recipe {
  fileprivate var name: String {
    switch self {
    case .firebaseScrypt: "firebase-scrypt"
    case .scrypt: "scrypt"
    case .pbkdf2(let digest, _): "pbkdf2-\(digest.rawValue)"
    case .hmac(let digest, _, _): "hmac-\(digest.rawValue)"
    case .digest(let digest, _, _): digest.rawValue
    case .phpass: "phpass"
    case .bcrypt: "bcrypt"
    case .argon2i: "argon2i"
    }
  }

  /// The parameters that determine the computing time.
  fileprivate var cost: String {
    switch self {
    case .firebaseScrypt(_, _, let rounds, let memoryCost): "ln=\(memoryCost),r=\(rounds)"
    case .scrypt(let n, let blockSize, let parallelization): "n=\(n),r=\(blockSize),p=\(parallelization)"
    case .pbkdf2(_, let iterations): "i=\(iterations)"
    case .hmac: ""
    case .digest(_, let rounds, _): "i=\(rounds)"
    case .phpass(let exponent): "ln=\(exponent)"
    case .bcrypt, .argon2i: ""
    }
  }

  fileprivate var parameters: String {
    func order(_ saltFirst: Bool) -> String { "o=" + (saltFirst ? "sp" : "ps") }
    return switch self {
    case .firebaseScrypt(let id, let separator, _, _): "k=\(id),\(cost),s=\(base64(separator))"
    case .hmac(_, let id, let saltFirst): "k=\(id),\(order(saltFirst))"
    case .digest(_, _, let saltFirst): "\(cost),\(order(saltFirst))"
    default: cost
    }
  }
}

extension ForeignHash {
  package var text: String {
    switch recipe {
    case .bcrypt(let text), .argon2i(let text): text
    default: "$\(recipe.name)$\(recipe.parameters)$\(base64(salt))$\(base64(hash))"
    }
  }

  /// Parses another service's hash as the store keeps it. Returns nil for any other text, such as a hash of ours.
  package init?(_ text: String) {
    if text.hasPrefix("$2") {
      self.init(.bcrypt(text))
    } else if text.hasPrefix("$argon2i$") {
      self.init(.argon2i(text))
    } else {
      let parts = text.split(separator: "$", omittingEmptySubsequences: false)
      guard parts.count == 5, parts[0].isEmpty, let salt = Base64.decode(Array(parts[3].utf8)),
        let hash = Base64.decode(Array(parts[4].utf8)),
        let recipe = Recipe(String(parts[1]), ForeignHash.parameters(String(parts[2])))
      else { return nil }
      self.init(recipe, salt: salt, hash: hash)
    }
  }

  private static func parameters(_ text: String) -> [String: String] {
    var parameters: [String: String] = [:]
    for part in text.split(separator: ",") {
      guard let sign = part.firstIndex(of: "=") else { continue }
      parameters[String(part[..<sign])] = String(part[part.index(after: sign)...])
    }
    return parameters
  }
}

extension ForeignHash.Recipe {
  fileprivate init?(_ name: String, _ parameters: [String: String]) {
    func number(_ name: String) -> Int? { parameters[name].flatMap { Int($0) } }
    let saltFirst = parameters["o"] == "sp"
    if name == "firebase-scrypt" {
      guard let id = parameters["k"], let rounds = number("r"), let memoryCost = number("ln"),
        let separator = Base64.decode(Array((parameters["s"] ?? "").utf8))
      else { return nil }
      self = .firebaseScrypt(keyID: id, separator: separator, rounds: rounds, memoryCost: memoryCost)
    } else if name == "scrypt" {
      guard let n = number("n"), let blockSize = number("r"), let parallelization = number("p") else { return nil }
      self = .scrypt(n: n, blockSize: blockSize, parallelization: parallelization)
    } else if let digest = ForeignDigest(name, after: "pbkdf2-") {
      guard let iterations = number("i") else { return nil }
      self = .pbkdf2(digest, iterations: iterations)
    } else if let digest = ForeignDigest(name, after: "hmac-") {
      guard let id = parameters["k"] else { return nil }
      self = .hmac(digest, keyID: id, saltFirst: saltFirst)
    } else if name == "phpass" {
      guard let exponent = number("ln") else { return nil }
      self = .phpass(exponent: exponent)
    } else if let digest = ForeignDigest(rawValue: name) {
      guard let rounds = number("i") else { return nil }
      self = .digest(digest, rounds: rounds, saltFirst: saltFirst)
    } else {
      return nil
    }
    guard (try? checkCost()) != nil else { return nil }
  }
}

extension ForeignDigest {
  fileprivate init?(_ name: String, after prefix: String) {
    guard name.hasPrefix(prefix) else { return nil }
    self.init(rawValue: String(name.dropFirst(prefix.count)))
  }
}

/// Encodes as in PHC strings.
private func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
