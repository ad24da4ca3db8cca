// Tokens: JOSE and JSON.
//
// Owns: strict and lenient JSON, compact JWS, key sets, the rules for ID tokens of providers, and our own tokens with
// their signing keys.
// Does not own: base64url (Encodings), cryptography (Crypto makes the signatures), fetching or caching of key sets
// (Providers), or what a session may do (Identity).
// Everything is a pure function of bytes, keys and the given time.
// Read next: JWS.swift, then ProviderTokenRules.swift for providers' tokens, KeyRing.swift for ours.

/// Why a token of any kind was rejected.
package enum TokenError: Error, Equatable, Sendable {
  /// Larger than the limit. The size is checked before anything is read.
  case tooLarge
  case malformed(TokenDefect)
  /// "none", a symmetric or unknown algorithm, or not the algorithm of the key.
  case algorithmNotAllowed
  case unknownKey
  case badSignature
  /// A token for one purpose, presented for another (RFC 8725 3.11).
  case wrongType
  case wrongIssuer
  case wrongAudience
  /// The signer may not issue tokens for this account.
  case accountNotAllowed
  case expired
  /// The key ring has no key that may sign now.
  case noActiveKey
  /// OpenSSL failed; in practice, out of memory.
  case signingFailed
}

package enum TokenDefect: String, Sendable {
  case segments = "SEGMENTS"
  case encoding = "ENCODING"
  case header = "HEADER"
  /// RFC 7515 4.1.11: an extension that must be understood but is not supported makes the token invalid.
  case criticalHeader = "CRITICAL_HEADER"
  case claims = "CLAIMS"
}

/// Compares identifiers byte by byte, as tokens require. Swift's `==` compares by canonical equivalence.
func identical(_ left: String, _ right: String) -> Bool {
  let (left, right) = (left.utf8Span.span, right.utf8Span.span)
  guard left.count == right.count else { return false }
  for index in left.indices where left[index] != right[index] { return false }
  return true
}
