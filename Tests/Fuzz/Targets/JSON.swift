import FoundationEssentials
import Store
import Tokens

extension FuzzTarget {
  /// A document: encoding it again gives the same value, it is nested no deeper than allowed, and another parser reads
  /// the same.
  static let json = FuzzTarget("json", seeds: jsonSeeds) { input in
    guard let value = try? JSONValue.parse(input, byteCountMax: 65_536) else { return }
    law(depth(value) <= JSONValue.depthMax, "nested \(depth(value)) deep")
    var writer = JSONWriter()
    writer.value(value)
    law((try? JSONValue.parse(writer.bytes, byteCountMax: 1 << 20)) == value, "does not read what it wrote")
    guard let other = try? JSONDecoder().decode(OtherValue.self, from: Data([0x5B] + input + [0x5D])) else {
      // The other parser does not support 0e3 and unpaired surrogates, which RFC 8259 allows.
      let hasHalves = (try? JSONValue.parse(input, byteCountMax: 65_536, .refused)) == nil
      return law(hasHalves || input.contains { $0 | 0x20 == UInt8(ascii: "e") }, "another reader refuses it")
    }
    law(other == OtherValue(.array([value])), "another reader reads \(other)")
  }

  private static func depth(_ value: JSONValue) -> Int {
    switch value {
    case .array(let values): 1 + (values.map(depth).max() ?? 0)
    case .object(let members): 1 + (members.map { depth($0.value) }.max() ?? 0)
    default: 0
    }
  }

  /// Custom claims of accounts and sessions: accepted claims are in tokens unchanged.
  static let customClaims = FuzzTarget("custom_claims", seeds: customClaimSeeds) { input in
    guard let claims = try? CustomClaims(validating: String(decoding: input, as: UTF8.self)) else { return }
    let custom = CustomTokenClaims(
      issuer: "us", audience: "us", accountID: "a", issuedAt: now.seconds, expiresAt: now.seconds + 60, claims: claims)
    let carried = try? Keys.ring.verify(Keys.signedByUs(custom.encoded(), .customToken), .customToken, at: now.seconds)
    guard carried != nil, let read = try? CustomTokenClaims(payload: custom.encoded()) else {
      return law(false, "a custom token cannot carry \(claims.json)")
    }
    law(read == custom, "a custom token carries other claims: \(read.claims.json)")
    checkInIDToken(claims, claims)
    // Those of the session take precedence.
    if let session = try? CustomClaims(validating: "{\"a\":[1e15],\"role\":\"\\u0007\"}") {
      checkInIDToken(claims.overridden(by: session), session)
      checkInIDToken(session.overridden(by: claims), claims)
    }
  }

  private static func checkInIDToken(_ claims: CustomClaims, _ winner: CustomClaims) {
    var token = IDTokenClaims(
      issuer: "us", audience: "a", accountID: "a", issuedAt: 1, expiresAt: 2, authenticatedAt: 1, sessionID: "s",
      methods: ["pwd"], signInProvider: "password")
    token.customClaims = claims
    guard let document = try? JSONValue.parse(token.encoded(), byteCountMax: 16_384),
      let read = try? IDTokenClaims(document)
    else { return law(false, "an ID token cannot carry \(claims.json)") }
    for member in members(winner) {
      law(document[member.name] == member.value, "an ID token has another \(member.name)")
    }
    law(read.accountID == "a" && read.issuer == "us", "claims changed the token's own claims")
  }

  private static func members(_ claims: CustomClaims) -> [JSONMember] {
    (try? JSONValue.parse(Array(claims.json.utf8), byteCountMax: 16_384))?.members ?? []
  }
}

/// A document as FoundationEssentials reads it. All numbers are doubles: as integers, it would cut off fractions that a
/// double of that size does not have.
private enum OtherValue: Decodable, Equatable {
  case nothing
  case flag(Bool)
  case number(Double)
  case text([UInt8])
  case list([OtherValue])
  case object([String: OtherValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .nothing
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(Array(text.utf8))
    } else if let list = try? container.decode([OtherValue].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: OtherValue].self))
    }
  }

  init(_ value: JSONValue) {
    self = switch value {
    case .null: .nothing
    case .bool(let flag): .flag(flag)
    case .int(let whole): .number(Double(whole))
    case .double(let number): .number(number)
    case .string(let text): .text(Array(text.utf8))
    case .array(let values): .list(values.map(OtherValue.init))
    case .object(let members):
      .object(Dictionary(uniqueKeysWithValues: members.map { ($0.name, OtherValue($0.value)) }))
    }
  }
}
