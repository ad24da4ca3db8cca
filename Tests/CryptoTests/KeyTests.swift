@testable import Crypto
import Testing

struct KeyTests {
  static let rsa = PublicKeyComponents.rsa(modulus: decoded(Vectors.rsaModulus), exponent: [1, 0, 1])
  static let p384 = PublicKeyComponents.ec(.p384, x: decoded(Vectors.p384X), y: decoded(Vectors.p384Y))
  static let p521 = PublicKeyComponents.ec(.p521, x: decoded(Vectors.p521X), y: decoded(Vectors.p521Y))

  @Test(arguments: [
    (SignatureAlgorithm.rs256, Vectors.rs256Signature), (.rs384, Vectors.rs384Signature),
    (.rs512, Vectors.rs512Signature), (.ps256, Vectors.ps256Signature), (.ps384, Vectors.ps384Signature),
    (.ps512, Vectors.ps512Signature),
  ])
  func `an RSA signature of another library verifies, and only as its own algorithm`(
    algorithm: SignatureAlgorithm, signature: String
  ) throws {
    let key = try PublicKey(Self.rsa)
    for other in SignatureAlgorithm.allCases {
      #expect(key.verify(signature: decoded(signature), of: message, other) == (other == algorithm))
    }
  }

  @Test(arguments: [
    (rsa, Vectors.rs256Signature),
    (.rsa(modulus: decoded(Vectors.rsaOfThreeModulus), exponent: [3]), Vectors.rsaOfThreeSignature),
  ])
  func `an RSA signature with any byte changed, cut, lengthened or taken modulo the key once more is refused`(
    components: PublicKeyComponents, signature: String
  ) throws {
    guard case .rsa(let modulus, _) = components else { return }
    let key = try PublicKey(components)
    let signature = decoded(signature)
    #expect(key.verify(signature: signature, of: message, .rs256))
    #expect(!key.verify(signature: signature, of: message + [0], .rs256))
    for index in signature.indices {
      var changed = signature
      changed[index] ^= 1 << (index % 8)
      #expect(!key.verify(signature: changed, of: message, .rs256))
    }
    // The same number in another encoding. RFC 8017 8.2.2 requires the modulus's length and a number below the modulus.
    var (more, carry): ([UInt8], Int) = ([], 0)
    for (left, right) in zip(signature, modulus).reversed() {
      let sum = Int(left) + Int(right) + carry
      more.insert(UInt8(sum & 0xFF), at: 0)
      carry = sum >> 8
    }
    for wrong in [[], [0], [0] + signature, Array(signature.dropLast()), signature + [0], modulus, more] {
      #expect(!key.verify(signature: wrong, of: message, .rs256))
    }
    for byte in [0, 1, 0xFF] as [UInt8] {
      let wrong = [UInt8](repeating: byte, count: signature.count)
      #expect(!key.verify(signature: wrong, of: message, .rs256))
    }
  }

  @Test func `a PS256 signature whose salt is shorter than the hash is refused (RFC 7518 3.5)`() throws {
    let key = try PublicKey(Self.rsa)
    #expect(!key.verify(signature: decoded(Vectors.ps256ShortSaltSignature), of: message, .ps256))
  }

  @Test(arguments: [
    (p384, SignatureAlgorithm.es384, Vectors.es384Signature), (p521, .es512, Vectors.es512Signature),
  ])
  func `an ECDSA signature of another library verifies, and with a coordinate off by one it does not`(
    components: PublicKeyComponents, algorithm: SignatureAlgorithm, signature: String
  ) throws {
    let key = try PublicKey(components)
    let signature = decoded(signature)
    #expect(key.verify(signature: signature, of: message, algorithm))
    for index in [0, signature.count / 2 - 1, signature.count / 2, signature.count - 1] {
      var changed = signature
      changed[index] ^= 1
      #expect(!key.verify(signature: changed, of: message, algorithm))
    }
  }

  @Test func `the ES256 example of RFC 7515 A.3 verifies`() throws {
    let key = try PublicKey(
      .ec(
        .p256, x: decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
        y: decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")))
    let signed = """
      eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt\
      cGxlLmNvbS9pc19yb290Ijp0cnVlfQ
      """
    let signature = decoded("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
    #expect(key.verify(signature: signature, of: Array(signed.utf8), .es256))
  }

  @Test func `the Ed25519 key of RFC 8037 A signs the very bytes of its example`() throws {
    let pkcs8Head: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20]
    let key = try PrivateKey(
      pkcs8: Secret(copying: pkcs8Head + decoded("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")))
    #expect(key.components == .ed25519(decoded("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")))
    let signed = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
    let expected = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    for name in [SignatureAlgorithm.edDSA, .ed25519] { #expect(try key.sign(signed, name) == decoded(expected)) }
  }

  @Test(arguments: KeyKind.allCases)
  func `a generated key signs with its algorithms alone, survives PKCS#8, and notices every change`(
    kind: KeyKind
  ) throws {
    let key = try PrivateKey(pkcs8: PrivateKey.generate(kind).pkcs8())
    let verifier = try key.publicKey()
    #expect(key.kind == kind && verifier.kind == kind)
    for algorithm in SignatureAlgorithm.allCases {
      guard kind.algorithms.contains(algorithm) else {
        #expect(throws: CryptoError.wrongAlgorithm) { try key.sign(message, algorithm) }
        continue
      }
      let signature = try key.sign(message, algorithm)
      #expect(verifier.verify(signature: signature, of: message, algorithm))
      #expect(!verifier.verify(signature: signature, of: message + [0], algorithm))
      #expect(!verifier.verify(signature: signature + [0], of: message, algorithm))
      #expect(!verifier.verify(signature: Array(signature.dropLast()), of: message, algorithm))
      #expect(!verifier.verify(signature: [], of: message, algorithm))
      #expect(!verifier.verify(signature: [UInt8](repeating: 0, count: signature.count), of: message, algorithm))
      #expect(try !PrivateKey.generate(kind).publicKey().verify(signature: signature, of: message, algorithm))
    }
  }

  @Test(arguments: [(KeyKind.p256, SignatureAlgorithm.es256, 64), (.ec(.p384), .es384, 96), (.ec(.p521), .es512, 132)])
  func `ECDSA signatures are raw, of fixed width, even when r or s is short`(
    kind: KeyKind, algorithm: SignatureAlgorithm, byteCount: Int
  ) throws {
    let key = try PrivateKey.generate(kind)
    let verifier = try key.publicKey()
    // One in 128 has a leading zero byte, so the test detects a dropped one.
    for number in 0..<600 {
      let text = Array("\(number)".utf8)
      let signature = try key.sign(text, algorithm)
      #expect(signature.count == byteCount)
      #expect(verifier.verify(signature: signature, of: text, algorithm))
    }
  }

  @Test func `one key signs and verifies on many threads concurrently`() async throws {
    for kind in KeyKind.allCases {
      let key = try PrivateKey.generate(kind)
      let verifier = try key.publicKey()
      let algorithm = try #require(kind.algorithms.first)
      let good = try await withThrowingTaskGroup(of: Int.self) { group in
        for task in 0..<8 {
          group.addTask {
            try (0..<25).count { number in
              let text = Array("\(task) \(number)".utf8)
              return verifier.verify(signature: try key.sign(text, algorithm), of: text, algorithm)
            }
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(good == 200)
    }
  }

  @Test(arguments: Curve.allCases)
  func `a private key that comes with another key's public half is refused`(curve: Curve) throws {
    func made() throws -> [UInt8] {
      let secret = try PrivateKey.generate(.ec(curve)).pkcs8()
      return unsafe secret.withPointer { unsafe [UInt8](UnsafeBufferPointer(start: $0, count: $1)) }
    }
    let (one, other) = (try made(), try made())
    // RFC 5915: the public point is at the end.
    let point = 1 + 2 * curve.coordinateByteCount
    #expect(throws: Never.self) { try PrivateKey(pkcs8: Secret(copying: one)) }
    #expect(throws: CryptoError.unusableKey(.malformed)) {
      try PrivateKey(pkcs8: Secret(copying: one.dropLast(point) + other.suffix(point)))
    }
  }

  @Test func `other text, PKCS#8 with trailing bytes, a short key and another curve are rejected as private keys`()
    throws
  {
    #expect(throws: CryptoError.unusableKey(.malformed)) { try PrivateKey(pkcs8: Secret(copying: [])) }
    #expect(throws: CryptoError.unusableKey(.malformed)) { try PrivateKey(pkcs8: Secret(copying: message)) }
    let head: [UInt8] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65]
    let seed = [UInt8](repeating: 7, count: 32)
    #expect(throws: CryptoError.unusableKey(.malformed)) {
      try PrivateKey(pkcs8: Secret(copying: head + [0x70, 4, 0x22, 4, 0x20] + seed + [0]))
    }
    #expect(throws: CryptoError.unusableKey(.modulusSize)) {
      try PrivateKey(pkcs8: Secret(copying: decoded(Vectors.shortPrivateKey)))
    }
    // X25519 (1.3.101.110) is for key agreement and cannot sign.
    #expect(throws: CryptoError.unusableKey(.unsupportedType)) {
      try PrivateKey(pkcs8: Secret(copying: head + [0x6E, 4, 0x22, 4, 0x20] + seed))
    }
  }
}

/// The product of two primes `k * M + 65537^a mod M`, where `M` is the product of the first 126 primes.
private let factorableModulus = """
  0nD5ff5HjjEfy-GERIj1VLlVWiNVdmky9zWpq175ck7V1KTz4G7FU3eeznLwZtT584aV8_juPZ9phKxX_1oH5K7x2ytI7IbOrcQIO6yLOQ1iEv\
  y--lWni9E2E5KgQ685lTHx5cVxXcc6ICKi6JqfH_T4FHP51dtmi6470OPJvAA7FnX-C_xsI_7N9OU3w0BoGKUutEilFaE3OapL7Qdo3Qhybxlj\
  DQwRCe3PqVnwCkINtHXpte2xkD5X43m5yvl0QlkqPlkwD2sb3_z6A5TVY6bw5ZP4jiqyYHMuqfXhZlcPqgBvU_LjjDBXoyQJtTskaVXsIjxFq9\
  SHW9dPvqysHw
  """

/// Check 54: hostile or broken key material is rejected, and the process survives.
struct HostileKeyTests {
  let modulus = decoded(Vectors.rsaModulus)

  @Test func `an RSA modulus below 2048 or above 8192 bits is refused (check 54)`() {
    let sizes: [[UInt8]] = [
      [0x0D], decoded(Vectors.shortModulus), [0x7F] + modulus.dropFirst(), [1] + [UInt8](repeating: 1, count: 1_024),
    ]
    for modulus in sizes {
      #expect(throws: CryptoError.unusableKey(.modulusSize)) {
        try PublicKey(.rsa(modulus: modulus, exponent: [1, 0, 1]))
      }
    }
    let evenOrEmpty: [[UInt8]] = [[], [0, 0], modulus.dropLast() + [0xFE]]
    for modulus in evenOrEmpty {
      #expect(throws: CryptoError.unusableKey(.malformed)) {
        try PublicKey(.rsa(modulus: modulus, exponent: [1, 0, 1]))
      }
    }
  }

  @Test func `an RSA modulus with the ROCA fingerprint is refused, and one that differs in a bit is not`() throws {
    let modulus = decoded(factorableModulus)
    #expect(throws: CryptoError.unusableKey(.roca)) { try PublicKey(.rsa(modulus: modulus, exponent: [1, 0, 1])) }
    #expect(throws: CryptoError.unusableKey(.roca)) { try PublicKey(.rsa(modulus: [0] + modulus, exponent: [3])) }
    _ = try PublicKey(.rsa(modulus: modulus.dropLast() + [modulus[255] ^ 2], exponent: [1, 0, 1]))
  }

  @Test func `an RSA modulus is measured by value: 8192 bits and leading zeros are accepted`() throws {
    _ = try PublicKey(.rsa(modulus: [0x80] + [UInt8](repeating: 1, count: 1_023), exponent: [3]))
    let padded = try PublicKey(.rsa(modulus: [0] + modulus, exponent: [0, 1, 0, 1]))
    #expect(padded.verify(signature: decoded(Vectors.rs256Signature), of: message, .rs256))
  }

  @Test func `an RSA exponent that is even, 1, 0, absent or as long as a modulus is refused (check 54)`() {
    for exponent in [[], [0], [1], [2], [1, 0, 0], [0, 1], [1, 0, 0, 0, 1], modulus] {
      #expect(throws: CryptoError.unusableKey(.exponent)) {
        try PublicKey(.rsa(modulus: modulus, exponent: exponent))
      }
    }
  }

  @Test func `a point off its curve, at infinity or beyond the field is refused (check 54)`() throws {
    let x = decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
    let y = decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
    let zero = [UInt8](repeating: 0, count: 32)
    let ones = [UInt8](repeating: 0xFF, count: 32)
    for (x, y) in [(y, x), (zero, zero), (ones, ones), (x, ones), (x, zero)] {
      #expect(throws: CryptoError.unusableKey(.notOnCurve)) { try PublicKey(.ec(.p256, x: x, y: y)) }
    }
    #expect(throws: CryptoError.unusableKey(.notOnCurve)) {
      try PublicKey(.ec(.p384, x: decoded(Vectors.p384Y), y: decoded(Vectors.p384X)))
    }
  }

  @Test func `a coordinate or an Ed25519 key of any other length is refused (check 54)`() {
    for count in [0, 31, 33, 48, 1_000] {
      let bytes = [UInt8](repeating: 1, count: count)
      #expect(throws: CryptoError.unusableKey(.malformed)) { try PublicKey(.ec(.p256, x: bytes, y: bytes)) }
      #expect(throws: CryptoError.unusableKey(.malformed)) { try PublicKey(.ed25519(bytes)) }
    }
  }
}
