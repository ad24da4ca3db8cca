import Crypto
import Encodings

/// An entry of a key set that verifies nothing, with the reason.
package struct SkippedKey: Hashable, Sendable {
  /// The reason. The set is closed, because each is a label of a metric.
  package enum Reason: String, Sendable, CaseIterable {
    /// The entry is null, a number, a string or an array.
    case notAnObject = "not_an_object"
    /// A relevant member occurs twice with different values.
    case duplicateMember = "duplicate_member"
    /// A member has the wrong type, is not base64url, or has the wrong length.
    case malformed
    case missingMember = "missing_member"
    /// The private half is published, so a signature proves nothing.
    case privateKey = "private_key"
    /// RSA with fewer than 2048 or more than 8192 bits.
    case modulusSize = "modulus_size"
    case exponent
    /// A factorable RSA key (CVE-2017-15361).
    case roca
    case notOnCurve = "not_on_curve"
    /// Its `alg` belongs to another kind of key.
    case algorithmMismatch = "algorithm_mismatch"
    /// The same key with the same `kid` precedes it.
    case repeated
    /// Too many keys, or too many with one `kid` and algorithm, precede it.
    case tooMany = "too_many"
    /// Not for signatures, such as an encryption key.
    case otherUse = "other_use"
    /// A type, curve or algorithm that this service accepts for no token.
    case unsupported

    /// Whether providers publish such entries on purpose (RFC 7517, 5).
    package var isOrdinary: Bool { self == .otherUse || self == .unsupported }

    init(_ defect: KeyDefect) {
      self = switch defect {
      case .malformed: .malformed
      case .unsupportedType: .unsupported
      case .modulusSize: .modulusSize
      case .exponent: .exponent
      case .notOnCurve: .notOnCurve
      case .roca: .roca
      }
    }
  }

  package let reason: Reason
  /// The entry's `kid`; nil if it has none.
  package let keyID: String?
  /// The position in the set, from 0.
  package let index: Int

  package init(reason: Reason, keyID: String?, index: Int) {
    self.reason = reason
    self.keyID = keyID
    self.index = index
  }
}

/// A reader that sorts the entries of one key set into keys and skipped ones.
struct KeySetReader {
  private struct Skip: Error {
    let reason: SkippedKey.Reason
  }

  /// Positions of keys by `kid`; under nil, of those without one.
  private var places: [String?: [Int]] = [:]
  private var thumbprints: [String] = []
  private(set) var keys: [JWKSet.Key] = []
  private(set) var skipped: [SkippedKey] = []

  /// Members that define a key. A duplicate of another name changes nothing.
  private static let decisive = ["kty", "use", "key_ops", "alg", "kid", "issuer", "crv", "x", "y", "n", "e", "d"]
  /// RFC 7518, 6.2.2 and 6.3.2.
  private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth"]

  mutating func read(_ entry: JSONValue, at index: Int) {
    do throws(Skip) {
      try keep(entry)
    } catch {
      skipped.append(SkippedKey(reason: error.reason, keyID: entry["kid"]?.string, index: index))
    }
  }

  private mutating func keep(_ jwk: JSONValue) throws(Skip) {
    let (key, thumbprint) = try KeySetReader.key(jwk)
    var same = places[key.keyID] ?? []
    for place in same where thumbprints[place] == thumbprint {
      guard !key.algorithms.allSatisfy(keys[place].algorithms.contains) else { throw Skip(reason: .repeated) }
    }
    for algorithm in key.algorithms {
      let others = same.count { keys[$0].algorithms.contains(algorithm) }
      guard others < JWKSet.candidatesMax else { throw Skip(reason: .tooMany) }
    }
    guard keys.count < JWKSet.keyCountMax else { throw Skip(reason: .tooMany) }
    same.append(keys.count)
    places[key.keyID] = same
    keys.append(key)
    thumbprints.append(thumbprint)
  }

  private static func key(_ jwk: JSONValue) throws(Skip) -> (JWKSet.Key, thumbprint: String) {
    guard jwk.members != nil else { throw Skip(reason: .notAnObject) }
    guard !decisive.contains(where: jwk.repeats) else { throw Skip(reason: .duplicateMember) }
    guard let type = try text(jwk, "kty") else { throw Skip(reason: .missingMember) }
    try checkUse(jwk)
    let keyID = try text(jwk, "kid")
    let components = try components(jwk, type)
    guard !privateMembers.contains(where: { jwk.optional($0) != nil }) else { throw Skip(reason: .privateKey) }
    let key: PublicKey
    do throws(CryptoError) { key = try PublicKey(components) } catch {
      guard case .unusableKey(let defect) = error else { throw Skip(reason: .malformed) }
      throw Skip(reason: .init(defect))
    }
    let algorithms = try algorithms(jwk, of: key.kind)
    let made = JWKSet.Key(
      keyID: keyID, algorithms: algorithms, publicKey: key, issuer: jwk["issuer"]?.string)
    return (made, components.thumbprint)
  }

  private static func checkUse(_ jwk: JSONValue) throws(Skip) {
    if let use = try text(jwk, "use"), !use.isEmpty, use != "sig" { throw Skip(reason: .otherUse) }
    guard let operations = jwk.optional("key_ops") else { return }
    guard let names = operations.strings else { throw Skip(reason: .malformed) }
    guard names.contains("verify") else { throw Skip(reason: .otherUse) }
  }

  /// Returns the algorithms of a key: all of its kind, or the one that it names.
  private static func algorithms(_ jwk: JSONValue, of kind: KeyKind) throws(Skip) -> [SignatureAlgorithm] {
    guard let name = try text(jwk, "alg"), !name.isEmpty else { return kind.algorithms }
    guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw Skip(reason: .unsupported) }
    guard kind.algorithms.contains(algorithm) else { throw Skip(reason: .algorithmMismatch) }
    return [algorithm]
  }

  private static func components(_ jwk: JSONValue, _ type: String) throws(Skip) -> PublicKeyComponents {
    switch type {
    case "RSA": return .rsa(modulus: try number(jwk, "n"), exponent: try number(jwk, "e"))
    case "EC":
      guard let name = try text(jwk, "crv") else { throw Skip(reason: .missingMember) }
      guard let curve = Curve(rawValue: name) else { throw Skip(reason: .unsupported) }
      return .ec(curve, x: try number(jwk, "x"), y: try number(jwk, "y"))
    case "OKP":
      guard let name = try text(jwk, "crv") else { throw Skip(reason: .missingMember) }
      guard name == "Ed25519" else { throw Skip(reason: .unsupported) }
      return .ed25519(try number(jwk, "x"))
    default: throw Skip(reason: .unsupported)
    }
  }

  private static func number(_ jwk: JSONValue, _ name: String) throws(Skip) -> [UInt8] {
    guard let text = try text(jwk, name) else { throw Skip(reason: .missingMember) }
    guard let bytes = Base64URL.decode(text) else { throw Skip(reason: .malformed) }
    return bytes
  }

  /// Returns nil if the member is absent or null.
  private static func text(_ jwk: JSONValue, _ name: String) throws(Skip) -> String? {
    guard let value = jwk.optional(name) else { return nil }
    guard let text = value.string else { throw Skip(reason: .malformed) }
    return text
  }
}
