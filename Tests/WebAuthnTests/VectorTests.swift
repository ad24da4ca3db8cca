import Encodings
import Testing
import Tokens
import WebAuthn

@Suite struct VectorTests {
  @Test(arguments: Vector.registrations.filter { $0.flaw == nil })
  func `a sound registration is verified`(_ vector: Vector) throws {
    let verified = try vector.register()
    #expect(verified.credentialID == vector.hex("id"))
    #expect(verified.publicKey == vector.key)
    #expect(verified.signCount == vector.signCount)
    #expect(verified.userVerified == vector.flag("uv"))
    #expect(verified.backupEligible == vector.flag("be"))
    #expect(verified.backedUp == vector.flag("bs"))
    #expect(verified.aaguid == vector.hex("aaguid"))
  }

  @Test(arguments: Vector.registrations.filter { $0.flaw != nil })
  func `a wrong registration is rejected with its flaw`(_ vector: Vector) throws {
    #expect(throws: try #require(vector.flaw)) { try vector.register() }
  }

  @Test(arguments: Vector.assertions.filter { $0.flaw == nil })
  func `a sound assertion is verified`(_ vector: Vector) throws {
    let verified = try vector.assert()
    #expect(verified.signCount == vector.signCount)
    #expect(verified.userVerified == vector.flag("uv"))
    #expect(verified.backupEligible == vector.flag("be"))
    #expect(verified.backedUp == vector.flag("bs"))
    #expect(try WebAuthn.parseAssertion(vector.answer).credentialID == vector.hex("id"))
  }

  @Test(arguments: Vector.assertions.filter { $0.flaw != nil })
  func `a wrong assertion is rejected with its flaw`(_ vector: Vector) throws {
    #expect(throws: try #require(vector.flaw)) { try vector.assert() }
  }

  @Test func `each flaw has a vector`() {
    let flaws = (Vector.registrations + Vector.assertions).compactMap(\.flaw)
    #expect(Set(flaws) == Set(WebAuthnFlaw.allCases))
    #expect(Vector.registrations.count + Vector.assertions.count > 200)
  }

  @Test func `what the client reports is passed on`() throws {
    let usual = try Vector.named("as usual (ES256)", in: Vector.registrations).register()
    #expect(usual.transports == ["internal"] && usual.isDiscoverable == true && usual.attestationFormat == "none")
    let bare = try Vector.named("without results of extensions (ES256)", in: Vector.registrations).register()
    #expect(bare.transports == [] && bare.isDiscoverable == nil)
    let attested = try Vector.named("attested, and trusted (ES256)", in: Vector.registrations).register()
    #expect(attested.attestationFormat == "packed")
    let handle = try WebAuthn.parseAssertion(Vector.named("as usual (ES256)", in: Vector.assertions).answer).userHandle
    #expect(handle?.count == 32)
    let without = try Vector.named("without user handle (ES256)", in: Vector.assertions)
    #expect(try WebAuthn.parseAssertion(without.answer).userHandle == nil)
  }

  @Test func `an assertion is rejected under each other key`() throws {
    for algorithm in ["ES256", "EdDSA", "RS256"] {
      let vector = try Vector.named("as usual (\(algorithm))", in: Vector.assertions)
      for other in Vector.assertions where other.key != vector.key && other.flaw == nil {
        #expect(throws: WebAuthnFlaw.signature) { try vector.assert(key: other.key) }
      }
    }
  }

  @Test func `a stored key that is none is rejected`() throws {
    let vector = try Vector.named("as usual (ES256)", in: Vector.assertions)
    for algorithm in PasskeyAlgorithm.allCases {
      for count in [0, 1, 31, 33, 63, 64, 65, 258, 260] where algorithm != .rs256 || count < 258 {
        let key = PasskeyPublicKey(algorithm: algorithm, bytes: [UInt8](repeating: 1, count: count))
        #expect(throws: WebAuthnFlaw.algorithm) { try vector.assert(key: key) }
      }
    }
  }

  @Test func `an answer may have 16,384 bytes`() throws {
    let registration = try Vector.named("as usual (ES256)", in: Vector.registrations)
    let assertion = try Vector.named("as usual (ES256)", in: Vector.assertions)
    func padded(_ answer: String, to count: Int) -> String {
      answer + String(repeating: " ", count: count - answer.utf8.count)
    }
    _ = try registration.register(padded(registration.answer, to: 16_384))
    _ = try assertion.assert(padded(assertion.answer, to: 16_384))
    #expect(throws: WebAuthnFlaw.tooLarge) { try registration.register(padded(registration.answer, to: 16_385)) }
    #expect(throws: WebAuthnFlaw.tooLarge) { try assertion.assert(padded(assertion.answer, to: 16_385)) }
  }
}
