import Encodings
import FoundationEssentials
import Testing
import Tokens
import WebAuthn

/// An answer of the software authenticator, with its outcome. `Fixtures/vectors.py` makes the files.
struct Vector: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let json: JSONValue

  static let registrations = all("registrations.jsonl")
  static let assertions = all("assertions.jsonl")

  private static func all(_ file: String) -> [Vector] {
    let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let text = FileManager.default.contents(atPath: folder + "/Fixtures/" + file) ?? Data()
    return Array(text).split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let json = try? JSONValue.parse(Array(line), byteCountMax: 65_536) else { return nil }
      return Vector(testDescription: json["name"]?.string ?? "", json: json)
    }
  }

  static func named(_ name: String, in vectors: [Vector]) throws -> Vector {
    try #require(vectors.first { $0.testDescription == name })
  }

  func text(_ name: String) -> String { json[name]?.string ?? "" }
  func hex(_ name: String) -> [UInt8] { Hexadecimal.decode(text(name)) ?? [] }
  func flag(_ name: String) -> Bool? { json[name]?.bool }

  var answer: String { text("answer") }
  var challenge: [UInt8] { Base64URL.decode(text("challenge")) ?? [] }
  /// Nil for an answer that must verify.
  var flaw: WebAuthnFlaw? { WebAuthnFlaw(rawValue: text("flaw")) }
  var signCount: UInt32? { json["sign_count"]?.int.map { UInt32($0) } }
  var algorithm: PasskeyAlgorithm? { json["algorithm"]?.int.flatMap { PasskeyAlgorithm(rawValue: Int($0)) } }
  var key: PasskeyPublicKey { PasskeyPublicKey(algorithm: algorithm ?? .es256, bytes: hex("key")) }
  var isVerificationRequired: Bool { json["site"]?["user_verification"]?.string == "required" }

  var site: RelyingParty {
    let site = json["site"]
    var rule = AttestationRule.none
    if let allowed = site?["allowed_aaguids"]?.strings, let roots = site?["roots"]?.string {
      rule = .direct(
        AttestationTrust(
          allowedAAGUIDs: Set(allowed.compactMap { Hexadecimal.decode($0) }), rootsPEM: Array(roots.utf8)))
    }
    let algorithms = site?["algorithms"]?.array?.compactMap { $0.int.flatMap { PasskeyAlgorithm(rawValue: Int($0)) } }
    return RelyingParty(
      id: "example.com", name: "Example", origins: site?["origins"]?.strings ?? ["https://example.com"],
      topOrigins: site?["top_origins"]?.strings ?? [], attestation: rule,
      algorithms: algorithms ?? PasskeyAlgorithm.allCases)
  }

  func register(_ answer: String? = nil) throws(WebAuthnFlaw) -> VerifiedRegistration {
    try WebAuthn.verifyRegistration(
      answer ?? self.answer, challenge: challenge, requiresUserVerification: isVerificationRequired, at: site)
  }

  func assert(_ answer: String? = nil, key: PasskeyPublicKey? = nil) throws(WebAuthnFlaw) -> VerifiedAssertion {
    try WebAuthn.verify(
      WebAuthn.parseAssertion(answer ?? self.answer), challenge: challenge, key: key ?? self.key,
      requiresUserVerification: isVerificationRequired, at: site)
  }
}
