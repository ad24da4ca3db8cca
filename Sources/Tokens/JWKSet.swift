package import Crypto
import Encodings

/// A fault of the key set as a document. Unusable entries are skipped one by one instead.
package enum KeySetError: Error, Equatable, Sendable {
  case tooLarge
  case notAKeySet
}

/// The keys of a JWK set (RFC 7517) that can verify a signature.
///
/// An odd or weak entry, or one for another use, is skipped with its reason (RFC 7517, 5). Every kept key has passed
/// all checks, so the key that verifies a token is always fully checked.
package struct JWKSet: Sendable {
  package static let byteCountMax = 262_144
  /// Maximum number of kept keys. A set of `byteCountMax` has room for about 2,000.
  package static let keyCountMax = 1_024
  /// Maximum number of keys with one `kid` and algorithm that are tried for one token. Each takes a signature check.
  package static let candidatesMax = 8

  package struct Key: Sendable {
    let keyID: String?
    let algorithms: [SignatureAlgorithm]
    package let publicKey: PublicKey
    /// The issuer whose tokens it signs. Contains the placeholder if it signs for any tenant (Microsoft).
    let issuer: String?

    func fits(_ wantedID: String?, _ algorithm: SignatureAlgorithm) -> Bool {
      algorithms.contains(algorithm) && (wantedID == nil || keyID == wantedID)
    }
  }

  /// The result of the search for a token's key.
  package enum Search: Sendable {
    case signed(by: Key)
    /// No key has this `kid` and algorithm.
    case unknownKey
    /// Such keys exist, but none of them made the signature.
    case badSignature
  }

  private let keys: [Key]
  /// Skipped entries in the order of the document.
  package let skipped: [SkippedKey]

  package var isEmpty: Bool { keys.isEmpty }
  package var count: Int { keys.count }

  package static func parse(_ body: [UInt8]) throws(KeySetError) -> JWKSet {
    guard body.count <= byteCountMax else { throw .tooLarge }
    guard let document = try? JSONValue.parseLeniently(body, byteCountMax: byteCountMax), !document.repeats("keys"),
      let entries = document["keys"]?.array
    else { throw .notAKeySet }
    var reader = KeySetReader()
    for (index, entry) in entries.enumerated() { reader.read(entry, at: index) }
    return JWKSet(keys: reader.keys, skipped: reader.skipped)
  }

  /// Finds the key that made this token's signature.
  package func signer(of token: JWS) -> Search {
    let candidates = candidates(keyID: token.keyID, algorithm: token.algorithm)
    guard !candidates.isEmpty else { return .unknownKey }
    let signer = candidates.first { token.isSigned(by: $0.publicKey) }
    return signer.map { .signed(by: $0) } ?? .badSignature
  }

  /// Returns the keys to check a token with this header: those with its `kid`, or all if it has none, whose algorithm
  /// fits.
  package func candidates(keyID: String?, algorithm: SignatureAlgorithm) -> [Key] {
    Array(keys.lazy.filter { $0.fits(keyID, algorithm) }.prefix(JWKSet.candidatesMax))
  }
}

extension PublicKeyComponents {
  /// The JWK thumbprint (RFC 7638): the hash of the required members in alphabetical order.
  package var thumbprint: String {
    var writer = JSONWriter()
    writer.open(.object)
    for (name, value) in requiredMembers { writer.member(name, value) }
    writer.close(.object)
    return Base64URL.encode(sha256(writer.bytes))
  }

  /// The required members in alphabetical order, as the thumbprint needs them.
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
