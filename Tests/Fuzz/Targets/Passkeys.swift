import Encodings
import Tokens
import WebAuthn

// Answers of authenticators. Corpus has real ones, which only a tool can make.

extension FuzzTarget {
  /// An attestation object and authenticator data: nothing that is not the answer of the key verifies.
  static let passkey = FuzzTarget("passkey", seeds: passkeySeeds) { input in
    var reader = InputReader(input)
    let part = reader.byte()
    let bytes = reader.rest()
    switch part {
    case 0: checkRegistration(bytes)
    case 1: checkAssertion(bytes)
    default: checkAnswer(String(decoding: bytes, as: UTF8.self))
    }
  }

  private static let site = RelyingParty(id: "example.com", name: "Example", origins: ["https://example.com"])
  private static let challenge = [UInt8](repeating: 7, count: 32)
  private static let identifier = [UInt8](repeating: 9, count: 16)

  private static func answer(_ ceremony: String, _ parts: [String: [UInt8]]) -> String {
    let client = """
      {"type":"webauthn.\(ceremony)","challenge":"\(Base64URL.encode(challenge))","origin":"https://example.com"}
      """
    var json = JSONWriter()
    json.open(.object)
    json.member("id", Base64URL.encode(identifier))
    json.member("rawId", Base64URL.encode(identifier))
    json.member("type", "public-key")
    json.name("response")
    json.open(.object)
    json.member("clientDataJSON", Base64URL.encode(Array(client.utf8)))
    for (name, bytes) in parts.sorted(by: { $0.key < $1.key }) { json.member(name, Base64URL.encode(bytes)) }
    json.close(.object)
    json.close(.object)
    return json.text
  }

  private static func checkRegistration(_ object: [UInt8]) {
    let made = try? WebAuthn.verifyRegistration(
      answer("create", ["attestationObject": object]), challenge: challenge, requiresUserVerification: false, at: site)
    guard let made else { return }
    law(made.credentialID == identifier, "another credential id")
    law(made.aaguid.count == 16, "a model of \(made.aaguid.count) bytes")
    law(made.backupEligible || !made.backedUp, "backed up without being eligible")
    // A key that is registered can be used: a wrong signature is not a wrong key.
    checkAssertion(Array("x".utf8), key: made.publicKey)
    let trust = AttestationTrust(allowedAAGUIDs: [made.aaguid], rootsPEM: [])
    let trusted = try? WebAuthn.verifyRegistration(
      answer("create", ["attestationObject": object]), challenge: challenge, requiresUserVerification: false,
      at: site.requiring(trust))
    law(trusted == nil, "trusted without an authority")
  }

  private static func checkAssertion(
    _ bytes: [UInt8], key: PasskeyPublicKey = PasskeyPublicKey(algorithm: .edDSA, bytes: point)
  ) {
    let text = answer("get", ["authenticatorData": bytes, "signature": Array(bytes.suffix(64))])
    guard let response = try? WebAuthn.parseAssertion(text) else { return }
    let verified = try? WebAuthn.verify(
      response, challenge: challenge, key: key, requiresUserVerification: false, at: site)
    law(verified == nil, "made a signature")
  }

  /// RFC 8032 7.1, test 1.
  private static let point =
    Hexadecimal.decode("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a") ?? []

  private static func checkAnswer(_ text: String) {
    let made = try? WebAuthn.verifyRegistration(
      text, challenge: challenge, requiresUserVerification: false, at: site)
    law(made == nil, "answered the challenge")
    guard let response = try? WebAuthn.parseAssertion(text) else { return }
    law(1...WebAuthnLimits.credentialID ~= response.credentialID.count, "an id of \(response.credentialID.count) bytes")
    if let handle = response.userHandle {
      law(1...WebAuthnLimits.userHandle ~= handle.count, "a handle of \(handle.count) bytes")
    }
    let key = PasskeyPublicKey(algorithm: .edDSA, bytes: point)
    let verified = try? WebAuthn.verify(
      response, challenge: challenge, key: key, requiresUserVerification: false, at: site)
    law(verified == nil, "answered the challenge")
  }

  private static var passkeySeeds: [Seed] {
    [
      Seed("assertion", [1] + [UInt8](repeating: 1, count: 101)),
      Seed("answer", [2] + Array(answer("get", ["authenticatorData": [1], "signature": [2]]).utf8)),
    ]
  }
}
