import Encodings
import Testing
import Tokens
import WebAuthn

@Suite struct MutationTests {
  /// Returns the answer with another value of a member of its response.
  private func replaced(_ name: String, in answer: String, by bytes: [UInt8]) throws -> String {
    let value = try JSONValue.parse(Array(answer.utf8), byteCountMax: 16_384)
    let text = try #require(value["response"]?[name]?.string)
    return answer.replacing(text, with: Base64URL.encode(bytes))
  }

  private func part(_ name: String, of answer: String) throws -> [UInt8] {
    let value = try JSONValue.parse(Array(answer.utf8), byteCountMax: 16_384)
    let text = try #require(value["response"]?[name]?.string)
    return try #require(Base64URL.decode(text))
  }

  @Test(arguments: ["as usual (RS256)", "attested, and trusted (ES256)", "attested by U2F (ES256)"])
  func `an attestation object is rejected at every length`(_ name: String) throws {
    let vector = try Vector.named(name, in: Vector.registrations)
    let object = try part("attestationObject", of: vector.answer)
    for count in object.indices {
      let answer = try replaced("attestationObject", in: vector.answer, by: Array(object.prefix(count)))
      #expect(throws: WebAuthnFlaw.attestation) { try vector.register(answer) }
    }
  }

  @Test(arguments: ["authenticatorData", "signature", "clientDataJSON"])
  func `a part of an assertion is rejected at every length`(_ part: String) throws {
    for name in ["with a secret and a blob (ES256)", "as usual (EdDSA)", "as usual (RS256)"] {
      let vector = try Vector.named(name, in: Vector.assertions)
      let bytes = try self.part(part, of: vector.answer)
      for count in bytes.indices {
        let answer = try replaced(part, in: vector.answer, by: Array(bytes.prefix(count)))
        #expect(throws: WebAuthnFlaw.self) { try vector.assert(answer) }
      }
    }
  }

  /// Changes, removes or inserts up to three bytes.
  private func mutated(_ bytes: [UInt8], _ random: inout SplitMix) -> [UInt8] {
    var bytes = bytes
    for _ in 0...random.next(below: 3) where !bytes.isEmpty {
      let at = random.next(below: bytes.count)
      switch random.next(below: 4) {
      case 0: bytes.remove(at: at)
      case 1: bytes.insert(UInt8(random.next(below: 256)), at: at)
      case 2: bytes[at] = UInt8(random.next(below: 256))
      default: bytes[at] ^= 1 << UInt8(random.next(below: 8))
      }
    }
    return bytes
  }

  @Test func `no mutation of 5,000 changes what a registration is trusted for`() throws {
    var random = SplitMix(seed: 34)
    let sound = Vector.registrations.filter { $0.flaw == nil }
    var verified = 0
    for _ in 0..<5000 {
      let vector = sound[random.next(below: sound.count)]
      let object = try part("attestationObject", of: vector.answer)
      let changed = mutated(object, &random)
      guard changed != object else { continue }
      let answer = try replaced("attestationObject", in: vector.answer, by: changed)
      // Nothing signs the object unless it has an attestation. Its id is checked by the rest of the answer.
      guard let registration = try? vector.register(answer) else { continue }
      verified += 1
      #expect(registration.credentialID == vector.hex("id"))
      guard vector.testDescription.contains("trusted") else { continue }
      #expect(registration.publicKey == vector.key && registration.aaguid == vector.hex("aaguid"))
    }
    #expect(verified < 2500)
  }

  @Test func `no mutation of 5,000 makes an assertion verify`() throws {
    var random = SplitMix(seed: 43)
    let sound = Vector.assertions.filter { $0.flaw == nil }
    for _ in 0..<5000 {
      let vector = sound[random.next(below: sound.count)]
      let name = ["authenticatorData", "signature", "clientDataJSON"][random.next(below: 3)]
      let bytes = try part(name, of: vector.answer)
      let changed = mutated(bytes, &random)
      guard changed != bytes else { continue }
      let answer = try replaced(name, in: vector.answer, by: changed)
      #expect(throws: WebAuthnFlaw.self) { try vector.assert(answer) }
    }
  }
}

/// SplitMix64, so that each run makes the same mutations.
private struct SplitMix {
  var seed: UInt64

  mutating func next(below bound: Int) -> Int {
    seed &+= 0x9E37_79B9_7F4A_7C15
    var z = seed
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(bound))
  }
}
