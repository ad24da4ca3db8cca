package enum CustomClaimsError: Error, Equatable, Sendable {
  /// No JSON object, or one that a strict reader refuses.
  case malformed
  /// CLAIMS_TOO_LARGE
  case tooLarge
  /// FORBIDDEN_CLAIM, and which.
  case forbidden(String)
}

/// Claims that an administrator attaches to an account, or a custom token to a session: a JSON object whose members go
/// to the top level of our ID tokens, so their names must not be those of the token's own.
package struct CustomClaims: Equatable, Sendable {
  package static let byteCountMax = 1_000
  /// They stand one level deeper in a custom token, which must still be readable.
  package static let depthMax = JSONValue.depthMax - 1
  package static let none = CustomClaims(members: [])

  /// What RFC 7519, OpenID Connect and Firebase reserve, and what our tokens say themselves.
  static let reservedNames: Set<String> = [
    "acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "cnf", "email", "email_verified", "exp", "firebase",
    "iat", "iss", "jti", "latchkey", "name", "nbf", "nonce", "phone_number", "picture", "s_hash", "sid", "sub",
    "sub_jwk", "uid",
  ]

  /// The text between the outer braces, as it was given: no number loses a digit by being read and written again.
  let members: [UInt8]

  package init(validating json: String) throws(CustomClaimsError) {
    guard json.utf8.count <= Self.byteCountMax else { throw .tooLarge }
    let bytes = Array(json.utf8)
    let parsed = try? JSONValue.parse(bytes, byteCountMax: bytes.count, depthMax: Self.depthMax, .refused)
    guard let object = parsed?.members,
      let opening = bytes.firstIndex(of: UInt8(ascii: "{")), let closing = bytes.lastIndex(of: UInt8(ascii: "}"))
    else { throw .malformed }
    if let name = object.map(\.name).first(where: Self.reservedNames.contains) { throw .forbidden(name) }
    members = object.isEmpty ? [] : Array(bytes[(opening + 1)..<closing])
  }

  private init(members: [UInt8]) {
    self.members = members
  }

  /// What is left of a token of ours without its own claims.
  init(of token: [JSONMember]) {
    var writer = JSONWriter()
    for member in token where !Self.reservedNames.contains(member.name) {
      writer.name(member.name)
      writer.value(member.value)
    }
    members = writer.bytes
  }

  /// These claims with those of `other` in place of the ones of the same name.
  package func overridden(by other: CustomClaims) -> CustomClaims {
    if other.isEmpty { return self }
    if isEmpty { return other }
    func texts(_ claims: CustomClaims) -> [JSONMemberText] {
      let bytes = Array(claims.json.utf8)
      return (try? JSONValue.parseWithTexts(bytes, byteCountMax: bytes.count))?.texts ?? []
    }
    let winning = texts(other)
    let names = Set(winning.map(\.name))
    let kept = texts(self).filter { !names.contains($0.name) } + winning
    return CustomClaims(members: Array(kept.map(\.member).joined(separator: [UInt8(ascii: ",")])))
  }

  package var isEmpty: Bool { members.isEmpty }

  package var json: String { "{" + String(decoding: members, as: UTF8.self) + "}" }
}
