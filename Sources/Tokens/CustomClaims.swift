internal import Encodings

package enum CustomClaimsError: Error, Equatable, Sendable {
  /// Not a JSON object, or one that a strict reader rejects.
  case malformed
  /// `CLAIMS_TOO_LARGE`
  case tooLarge
  /// `FORBIDDEN_CLAIM`, with the name.
  case forbidden(String)
  /// `FORBIDDEN_CLAIM`: two names that a case-insensitive reader treats as one.
  case sameName(String)
  /// `FORBIDDEN_CLAIM`: a name with a control character, at any depth.
  case controlCharacter
}

/// Claims that an administrator attaches to an account, or a custom token to a session.
///
/// The members of this JSON object become top-level claims of our ID tokens. Their names must differ from the token's
/// own claims in any case. Some readers, such as Go's `encoding/json`, match names case-insensitively and take the last
/// match.
package struct CustomClaims: Equatable, Sendable {
  package static let byteCountMax = 1_000
  /// A custom token nests them one level deeper, and must still be readable.
  package static let depthMax = JSONValue.depthMax - 1
  package static let none = CustomClaims(members: [])

  /// Names that RFC 7519, OpenID Connect and Firebase reserve, and those of our tokens' own claims.
  static let reservedNames: Set<String> = [
    "acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "cnf", "email", "email_verified", "exp", "firebase",
    "iat", "iss", "jti", "latchkey", "name", "nbf", "nonce", "phone_number", "picture", "s_hash", "sid", "sub",
    "sub_jwk", "uid",
  ]

  /// The original text between the outer braces: no number loses a digit by being read and written again.
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

  /// Reads claims that were validated when they were stored, perhaps by an earlier version with fewer rules. Members
  /// that are no longer valid are dropped: they must not prevent sign-in to the account.
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

  /// Folds a name for a case-insensitive comparison. Upper case comes first: `ſ` (U+017F) and `ı` (U+0131) have the
  /// capitals of `s` and `i`. The dot that `İ` leaves on its `i` is dropped.
  static func folded(_ name: String) -> String {
    if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
    let lower = name.uppercased().lowercased()
    return String(String.UnicodeScalarView(lower.unicodeScalars.filter { $0 != "\u{307}" }))
  }

  private static func hasControl(_ name: String) -> Bool { name.unicodeScalars.contains(where: ShownText.isControl) }

  private static func hasControl(_ member: JSONMember) -> Bool { hasControl(member.name) || hasControl(member.value) }

  /// Checks only the names of members: a value may contain any text.
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

  /// Keeps the custom claims of one of our tokens, without the token's own claims.
  init(of token: [JSONMember]) {
    var writer = JSONWriter()
    for member in token where !Self.reservedNames.contains(Self.folded(member.name)) {
      writer.name(member.name)
      writer.value(member.value)
    }
    members = writer.bytes
  }

  /// Returns these claims, in which those of `other` replace claims of the same name in any case.
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
