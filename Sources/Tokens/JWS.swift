package import Crypto
import Encodings

/// A compact JWS (RFC 7515 7.1), parsed but not yet verified.
///
/// The reader uses only `alg`, `kid`, `typ` and `crit` of the header. It ignores `jku`, `x5u`, `jwk` and `x5c`: a token
/// never states where its own key is (check 44). A value of this type cannot have an algorithm outside
/// `SignatureAlgorithm`, such as "none" or HS256 (check 43).
package struct JWS: Sendable {
  package static let byteCountMax = 16_384

  package let algorithm: SignatureAlgorithm
  package let keyID: String?
  package let type: String?
  package let payload: [UInt8]
  private let signingInput: [UInt8]
  private let signature: [UInt8]

  package init(_ compact: String) throws(TokenError) {
    guard compact.utf8.count <= Self.byteCountMax else { throw .tooLarge }
    var bytes = Array(compact.utf8)
    let dot = UInt8(ascii: ".")
    guard let first = bytes.firstIndex(of: dot), let last = bytes.lastIndex(of: dot), first < last,
      !bytes[(first + 1)..<last].contains(dot)
    else { throw .malformed(.segments) }
    guard let headerText = Base64URL.decode(bytes[..<first]), let payload = Base64URL.decode(bytes[(first + 1)..<last]),
      let signature = Base64URL.decode(bytes[(last + 1)...])
    else { throw .malformed(.encoding) }
    guard let header = try? JSONValue.parse(headerText, byteCountMax: Self.byteCountMax) else {
      throw .malformed(.header)
    }
    guard header["crit"] == nil else { throw .malformed(.criticalHeader) }
    guard let name = try Self.text(header["alg"]) else { throw .malformed(.header) }
    guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw .algorithmNotAllowed }
    self.algorithm = algorithm
    keyID = try Self.text(header["kid"])
    type = try Self.text(header["typ"])
    self.payload = payload
    self.signature = signature
    bytes.removeSubrange(last...)
    signingInput = bytes
  }

  /// Returns whether the key made the signature. The caller has chosen the key and pinned the algorithm to it.
  package func isSigned(by key: PublicKey) -> Bool {
    key.verify(signature: signature, of: signingInput, algorithm)
  }

  /// Returns the claims set. Call `isSigned` first: unverified claims have no meaning.
  package func claims() throws(TokenError) -> JSONValue {
    guard let claims = try? JSONValue.parse(payload, byteCountMax: Self.byteCountMax), claims.members != nil else {
      throw .malformed(.claims)
    }
    return claims
  }

  private static func text(_ value: JSONValue?) throws(TokenError) -> String? {
    guard let value else { return nil }
    guard let text = value.string else { throw .malformed(.header) }
    return text
  }
}
