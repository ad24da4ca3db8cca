internal import Encodings

package enum CustomClaimsError: Error, Equatable, Sendable {
  /// No JSON object, or one that a strict reader refuses.
  case malformed
  /// CLAIMS_TOO_LARGE
  case tooLarge
  /// FORBIDDEN_CLAIM, and which.
  case forbidden(String)
  /// FORBIDDEN_CLAIM: two names that a reader without regard to case takes for one.
  case sameName(String)
  /// FORBIDDEN_CLAIM: a name with a control character, at any depth.
  case controlCharacter
}

/// Claims that an administrator attaches to an account, or a custom token to a session: a JSON object whose members go
/// to the top level of our ID tokens, so their names must not be those of the token's own, in any case: some readers,
/// such as Go's `encoding/json`, match names without regard to case and take the last one.
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
    try Self.checkNames(object)
    members = object.isEmpty ? [] : Array(bytes[(opening + 1)..<closing])
  }

  /// Claims that were validated when they were stored, perhaps by an earlier version with fewer rules. Members that are
  /// not valid any more are left out: they must not keep their account from signing in.
  package static func stored(_ json: String) throws(CustomClaimsError) -> CustomClaims {
    do {
      return try CustomClaims(validating: json)
    } catch {
      let bytes = Array(json.utf8)
      guard let (value, texts) = try? JSONValue.parseWithTexts(bytes, byteCountMax: bytes.count),
        value.members != nil
      else { throw error }
      var names: Set<String> = []
      let kept = texts.filter { text in
        let folded = folded(text.name)
        return !reservedNames.contains(folded) && !hasControl(text.name) && names.insert(folded).inserted
      }
      return CustomClaims(members: Array(kept.map(\.member).joined(separator: [UInt8(ascii: ",")])))
    }
  }

  private static func checkNames(_ claims: [JSONMember]) throws(CustomClaimsError) {
    var names: Set<String> = []
    for claim in claims {
      guard !hasControl(claim) else { throw .controlCharacter }
      let folded = folded(claim.name)
      guard !reservedNames.contains(folded) else { throw .forbidden(claim.name) }
      guard names.insert(folded).inserted else { throw .sameName(claim.name) }
    }
  }

  /// A name as readers compare it that have no regard to case. Upper case first: `ſ` (U+017F) and `ı` (U+0131) have the
  /// capitals of `s` and `i`. The dot that `İ` leaves on its `i` is dropped.
  static func folded(_ name: String) -> String {
    if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
    let lower = name.uppercased().lowercased()
    return String(String.UnicodeScalarView(lower.unicodeScalars.filter { $0 != "\u{307}" }))
  }

  private static func hasControl(_ name: String) -> Bool { name.unicodeScalars.contains(where: ShownText.isControl) }

  private static func hasControl(_ member: JSONMember) -> Bool { hasControl(member.name) || hasControl(member.value) }

  /// Names of members only: a value may hold any text.
  private static func hasControl(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let members): members.contains { hasControl($0) }
    case .array(let values): values.contains { hasControl($0) }
    default: false
    }
  }

  private init(members: [UInt8]) {
    self.members = members
  }

  /// What is left of a token of ours without its own claims.
  init(of token: [JSONMember]) {
    var writer = JSONWriter()
    for member in token where !Self.reservedNames.contains(Self.folded(member.name)) {
      writer.name(member.name)
      writer.value(member.value)
    }
    members = writer.bytes
  }

  /// These claims with those of `other` in place of the ones of the same name, in any case.
  package func overridden(by other: CustomClaims) -> CustomClaims {
    if other.isEmpty { return self }
    if isEmpty { return other }
    func texts(_ claims: CustomClaims) -> [JSONMemberText] {
      let bytes = Array(claims.json.utf8)
      return (try? JSONValue.parseWithTexts(bytes, byteCountMax: bytes.count))?.texts ?? []
    }
    let winning = texts(other)
    let names = Set(winning.map { Self.folded($0.name) })
    let kept = texts(self).filter { !names.contains(Self.folded($0.name)) } + winning
    return CustomClaims(members: Array(kept.map(\.member).joined(separator: [UInt8(ascii: ",")])))
  }

  package var isEmpty: Bool { members.isEmpty }

  package var json: String { "{" + String(decoding: members, as: UTF8.self) + "}" }
}
