internal import Crypto
internal import Encodings

// Hashes that other frameworks keep as one text with all parameters. Every fault names `password_hash`, because a row
// has nothing else.

/// Checks a text such as `$2b$10$` with 53 more characters. `2x` marks hashes of a faulty library and is rejected.
func bcryptText(_ hash: [UInt8], costMax: Int) throws(ForeignHashError) -> String {
  let text = String(decoding: hash, as: UTF8.self)
  guard text.utf8.count == Bcrypt.hashByteCount,
    let match = text.wholeMatch(of: /\$2[aby]\$([0-9]{2})\$[.\/A-Za-z0-9]{53}/), let cost = Int(match.1)
  else { throw wrong("It must be a bcrypt text of the kind 2a, 2b or 2y.") }
  let costs = ForeignHashBounds.bcryptCost
  try check("password_hash", cost, costs.lowerBound...min(costMax, costs.upperBound), "as its bcrypt cost")
  return text
}

/// Returns the stored text of a hash that Django wrote (`encoded` of its hashers).
func djangoText(_ text: String, bcryptCostMax: Int) throws(ForeignHashError) -> String {
  let (name, rest) = cut(text, at: "$")
  switch name {
  case "pbkdf2_sha256": return try ForeignHash(djangoPBKDF2: rest, .sha256).text
  case "pbkdf2_sha1": return try ForeignHash(djangoPBKDF2: rest, .sha1).text
  case "scrypt": return try ForeignHash(djangoScrypt: rest).text
  case "bcrypt": return try bcryptText(Array(rest.utf8), costMax: bcryptCostMax)
  case "argon2": return try Argon2Text("$" + rest).text
  default: throw wrong("It must begin with pbkdf2_sha256$, pbkdf2_sha1$, scrypt$, bcrypt$ or argon2$.")
  }
}

extension ForeignHash {
  /// A portable hash of phpass: `$P$` or `$H$`, a character of the cost, 8 of the salt, and 22 of the hash.
  init(phpass text: String) throws(ForeignHashError) {
    let bytes = Array(text.utf8)
    guard bytes.count == 34, text.hasPrefix("$P$") || text.hasPrefix("$H$"),
      let exponent = CryptBase64.value(of: bytes[3]), let hash = CryptBase64.decode(bytes[12...], byteCount: 16)
    else { throw wrong("It must be a portable hash of phpass: $P$ or $H$ and 31 more characters.") }
    try check("password_hash", exponent, ForeignHashBounds.phpassExponent, "as its exponent of rounds")
    self.init(.phpass(exponent: exponent), salt: Array(bytes[4..<12]), hash: hash)
  }

  /// `iterations$salt$hash`, the hash in base64.
  fileprivate init(djangoPBKDF2 text: String, _ digest: ForeignDigest) throws(ForeignHashError) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 3, let iterations = number(parts[0]), let hash = Base64.decode(Array(parts[2].utf8)) else {
      throw wrong("It must have the form pbkdf2_sha256$iterations$salt$hash.")
    }
    try self.init(bounded: .pbkdf2(digest, iterations: iterations), salt: parts[1], hash: hash)
  }

  /// `N$salt$r$p$hash`, the hash in base64.
  fileprivate init(djangoScrypt text: String) throws(ForeignHashError) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 5, let n = number(parts[0]), let blockSize = number(parts[2]), let lanes = number(parts[3]),
      let hash = Base64.decode(Array(parts[4].utf8))
    else { throw wrong("It must have the form scrypt$N$salt$r$p$hash.") }
    try self.init(
      bounded: .scrypt(n: n, blockSize: blockSize, parallelization: lanes), salt: parts[1], hash: hash)
  }

  /// A text of Werkzeug: `method$salt$hash`, the hash in hexadecimal.
  init(werkzeug text: String) throws(ForeignHashError) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 3, let hash = Hexadecimal.decode(String(parts[2])) else {
      throw wrong("It must have the form method$salt$hash, with the hash in hexadecimal.")
    }
    let method = parts[0].split(separator: ":", omittingEmptySubsequences: false)
    let numbers = method.compactMap(number)
    let recipe: Recipe
    if method.count == 4, method[0] == "scrypt", numbers.count == 3 {
      recipe = .scrypt(n: numbers[0], blockSize: numbers[1], parallelization: numbers[2])
    } else if method.count == 3, method[0] == "pbkdf2", numbers.count == 1,
      let digest = ForeignDigest(rawValue: String(method[1])), digest != .md5 {
      recipe = .pbkdf2(digest, iterations: numbers[0])
    } else {
      throw wrong("Its method must be scrypt:N:r:p, or pbkdf2 with sha1, sha256 or sha512 and its iterations.")
    }
    try self.init(bounded: recipe, salt: parts[1], hash: hash)
  }

  private init(bounded recipe: Recipe, salt: Substring, hash: [UInt8]) throws(ForeignHashError) {
    self.init(recipe, salt: Array(salt.utf8), hash: hash)
    do throws(ForeignHashError) {
      try recipe.checkCost()
      try check("salt", self.salt.count, 0...ForeignHashBounds.saltBytesMax, "bytes of salt")
      try check("hash", hash.count, ForeignHashBounds.hashBytes, "bytes of hash")
      try checkWork("rounds")
    } catch {
      throw wrong("\(error.field): \(error.why)")
    }
  }
}

/// The base64 of crypt(3) with the lowest bits first, as phpass writes it.
private enum CryptBase64 {
  private static let alphabet = Array("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

  static func value(of byte: UInt8) -> Int? { alphabet.firstIndex(of: byte) }

  /// Returns nil if a character is not in the alphabet, or if the text has more bits set than `byteCount` bytes.
  static func decode(_ text: ArraySlice<UInt8>, byteCount: Int) -> [UInt8]? {
    var (bytes, bits, bitCount) = ([UInt8](), 0, 0)
    for character in text {
      guard let value = value(of: character) else { return nil }
      bits |= value << bitCount
      bitCount += 6
      while bitCount >= 8, bytes.count < byteCount {
        bytes.append(UInt8(truncatingIfNeeded: bits))
        bits >>= 8
        bitCount -= 8
      }
    }
    return bytes.count == byteCount && bits == 0 ? bytes : nil
  }
}

private func wrong(_ why: String) -> ForeignHashError { ForeignHashError("password_hash", why) }

private func number(_ text: Substring) -> Int? {
  text.utf8.count <= 9 && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    ? Int(text) : nil
}

private func cut(_ text: String, at separator: Character) -> (before: String, after: String) {
  guard let place = text.firstIndex(of: separator) else { return (text, "") }
  return (String(text[..<place]), String(text[text.index(after: place)...]))
}
