package import Crypto
import Encodings

/// Why a provider's key set was not taken. The set is refused whole (check 54): a provider that publishes broken keys
/// is not asked to vouch for anyone until it publishes good ones. A kid may stand twice where no algorithm is common to
/// both, as in RFC 7517 4.5: then a signature still has one key that may check it.
package enum KeySetError: Error, Equatable, Sendable {
  case tooLarge
  case tooManyKeys
  case notAKeySet
  case duplicateKeyID
  case unusableKey(KeyDefect)
}

/// The keys of a JWK set (RFC 7517) that can verify a signature. Keys of other types, curves, algorithms or uses are
/// passed over, as RFC 7517 5 asks, and so are those without a member that their type must have (`x5c` alone).
package struct JWKSet: Sendable {
  package static let byteCountMax = 262_144
  package static let keyCountMax = 64

  package struct Key: Sendable {
    let keyID: String?
    let algorithms: [SignatureAlgorithm]
    package let publicKey: PublicKey
    /// Whose tokens it signs, with the placeholder where it is any tenant's (Microsoft).
    let issuer: String?

    fileprivate func sharesAlgorithm(with other: Key) -> Bool { algorithms.contains(where: other.algorithms.contains) }
  }

  private let keys: [Key]

  package var isEmpty: Bool { keys.isEmpty }

  package static func parse(_ body: [UInt8]) throws(KeySetError) -> JWKSet {
    guard body.count <= byteCountMax else { throw .tooLarge }
    guard let document = try? JSONValue.parse(body, byteCountMax: byteCountMax), let keys = document["keys"]?.array
    else { throw .notAKeySet }
    guard keys.count <= keyCountMax else { throw .tooManyKeys }
    var usable: [Key] = []
    for jwk in keys {
      guard let key = try key(jwk) else { continue }
      if key.keyID != nil, usable.contains(where: { $0.keyID == key.keyID && $0.sharesAlgorithm(with: key) }) {
        throw .duplicateKeyID
      }
      usable.append(key)
    }
    return JWKSet(keys: usable)
  }

  /// The one key that may check this signature. A key's own `alg` must agree. Without a `kid` there must be no choice.
  package func key(keyID: String?, algorithm: SignatureAlgorithm) -> Key? {
    func fits(_ key: Key) -> Bool { key.algorithms.contains(algorithm) && (keyID == nil || key.keyID == keyID) }
    guard let first = keys.firstIndex(where: fits), !keys[(first + 1)...].contains(where: fits) else { return nil }
    return keys[first]
  }

  private static func key(_ jwk: JSONValue) throws(KeySetError) -> Key? {
    guard jwk.members != nil, let type = jwk["kty"]?.string else { throw .notAKeySet }
    let (use, operations, keyID) = (jwk.optional("use"), jwk.optional("key_ops"), jwk.optional("kid"))
    guard use == nil || use?.string == "sig", operations == nil || operations?.strings?.contains("verify") == true
    else { return nil }
    guard keyID == nil || keyID?.string != nil else { throw .notAKeySet }
    let algorithm = jwk.optional("alg").map { SignatureAlgorithm(rawValue: $0.string ?? "") }
    if case .some(.none) = algorithm { return nil }
    guard let components = try components(jwk, type) else { return nil }
    do throws(CryptoError) {
      let key = try PublicKey(components)
      let algorithms = key.kind.algorithms.filter { algorithm == nil || algorithm == $0 }
      guard !algorithms.isEmpty else { return nil }
      return Key(keyID: keyID?.string, algorithms: algorithms, publicKey: key, issuer: jwk["issuer"]?.string)
    } catch {
      guard case .unusableKey(let defect) = error else { throw .unusableKey(.malformed) }
      throw .unusableKey(defect)
    }
  }

  private static func components(_ jwk: JSONValue, _ type: String) throws(KeySetError) -> PublicKeyComponents? {
    let names = type == "RSA" ? ["n", "e"] : type == "EC" ? ["x", "y"] : ["x"]
    guard names.allSatisfy({ jwk.optional($0) != nil }) else { return nil }
    let curve = jwk["crv"]?.string
    switch type {
    case "RSA": return .rsa(modulus: try number(jwk, "n"), exponent: try number(jwk, "e"))
    case "EC":
      guard let curve = curve.flatMap(Curve.init) else { return nil }
      return .ec(curve, x: try number(jwk, "x"), y: try number(jwk, "y"))
    case "OKP": return curve == "Ed25519" ? .ed25519(try number(jwk, "x")) : nil
    default: return nil
    }
  }

  private static func number(_ jwk: JSONValue, _ name: String) throws(KeySetError) -> [UInt8] {
    guard let text = jwk[name]?.string, let bytes = Base64URL.decode(text) else { throw .unusableKey(.malformed) }
    return bytes
  }
}

extension PublicKeyComponents {
  /// RFC 7638: the hash of the required members in alphabetical order.
  package var thumbprint: String {
    var writer = JSONWriter()
    writer.open(.object)
    for (name, value) in requiredMembers { writer.member(name, value) }
    writer.close(.object)
    return Base64URL.encode(sha256(writer.bytes))
  }

  /// In alphabetical order, as the thumbprint needs them.
  var requiredMembers: [(name: String, value: String)] {
    switch self {
    case .rsa(let modulus, let exponent):
      [("e", Base64URL.encode(exponent)), ("kty", "RSA"), ("n", Base64URL.encode(modulus))]
    case .ec(let curve, let x, let y):
      [("crv", curve.rawValue), ("kty", "EC"), ("x", Base64URL.encode(x)), ("y", Base64URL.encode(y))]
    case .ed25519(let x):
      [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64URL.encode(x))]
    }
  }
}
