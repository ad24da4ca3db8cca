import Crypto
import Encodings
import Tokens

/// Proof key for code exchange (RFC 7636): the code is useless without the verifier. The method `plain` does not exist
/// here, so nothing can fall back to it.
enum ProofKey {
  static let method = "S256"
  static let verifierBytes = 43...128

  /// Returns whether the text is a verifier (RFC 7636, 4.1): unreserved characters.
  static func isVerifier(_ text: String) -> Bool {
    verifierBytes.contains(text.utf8.count) && URLEncoding.percentEncoded(text).utf8.count == text.utf8.count
  }

  /// Returns the challenge for a verifier (RFC 7636, 4.2).
  static func challenge(of verifier: String) -> String { Base64URL.encode(sha256(Array(verifier.utf8))) }
}
