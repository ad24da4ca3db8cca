// Tokens owns JOSE: strict JSON, compact JWS, key sets, the rules for ID tokens of providers, and our own tokens with
// the keys that sign them. It does not own base64url (Encodings), cryptography (Crypto does the signatures), fetching
// or caching of key sets (Providers), nor what a session may do (Identity). Everything is a pure function of bytes,
// keys and the time it is given. Next: JWS.swift, then ProviderTokenRules for other people's tokens, KeyRing for ours.

/// Why a token of any kind was not taken.
package enum TokenError: Error, Equatable, Sendable {
  /// Past the limit, found before anything of it was read.
  case tooLarge
  case malformed(TokenDefect)
  /// "none", a symmetric algorithm, an unknown one, or another than the key's.
  case algorithmNotAllowed
  case unknownKey
  case badSignature
  /// A token of one purpose presented for another (RFC 8725 3.11).
  case wrongType
  case wrongIssuer
  case wrongAudience
  /// Its signer may not speak for this account.
  case accountNotAllowed
  case expired
  /// The ring has no key that may sign now.
  case noActiveKey
  /// OpenSSL could not; in practice, no memory.
  case signingFailed
}

package enum TokenDefect: String, Sendable {
  case segments = "SEGMENTS"
  case encoding = "ENCODING"
  case header = "HEADER"
  /// RFC 7515 4.1.11: what must be understood and is not, refuses the token.
  case criticalHeader = "CRITICAL_HEADER"
  case claims = "CLAIMS"
}

/// Swift compares strings by canonical equivalence; identifiers in tokens are compared byte by byte.
func identical(_ left: String, _ right: String) -> Bool {
  let (left, right) = (left.utf8Span.span, right.utf8Span.span)
  guard left.count == right.count else { return false }
  for index in left.indices where left[index] != right[index] { return false }
  return true
}
