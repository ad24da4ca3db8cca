import Crypto
import Testing

/// Private keys in the file formats of other tools.
struct PEMTests {
  private func read(_ pem: String) throws -> PrivateKey { try PrivateKey(pem: Secret(copying: Array(pem.utf8))) }

  @Test func `the PKCS#8 example of RFC 8410, 10.3, is read`() throws {
    let key = try read(
      """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
      -----END PRIVATE KEY-----
      """)
    let point: [UInt8] = [
      0x19, 0xBF, 0x44, 0x09, 0x69, 0x84, 0xCD, 0xFE, 0x85, 0x41, 0xBA, 0xC1, 0x67, 0xDC, 0x3B, 0x96, 0xC8, 0x50,
      0x86, 0xAA, 0x30, 0xB6, 0xB6, 0xCB, 0x0C, 0x5C, 0x38, 0xAD, 0x70, 0x31, 0x66, 0xE1,
    ]
    #expect(key.components == .ed25519(point))
    let signature = try key.sign([1, 2, 3], .edDSA)
    #expect(try key.publicKey().verify(signature: signature, of: [1, 2, 3], .edDSA))
  }

  @Test func `the older EC form of OpenSSL (RFC 5915) is read`() throws {
    let key = try read(
      """
      -----BEGIN EC PRIVATE KEY-----
      MHcCAQEEIKXaU2wV0XPmUZDoCzI0S/RMMiV9yFwJD4I7CKY9N1P+oAoGCCqGSM49
      AwEHoUQDQgAEpIAN+qh3JmCBUPc1uguQmsnO5aE9bBfhc2+/la8IN22lOoazZzlw
      L5JFUkQK2mM8Ive1EKcJUBDail8oWtuaDw==
      -----END EC PRIVATE KEY-----
      """)
    #expect(key.kind == .p256)
  }

  @Test func `a private key with a passphrase is rejected without a prompt`() {
    let encrypted = """
      -----BEGIN ENCRYPTED PRIVATE KEY-----
      MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAi8cFrMbENTuwICCAAw
      DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEOErigxo4Nwsg/a56Z7RWOQEgZAY
      hWSdmq0gcDEMjfyP8HuTMCM6ln8C5lgZ+IGUm+83E+iYTyqc3vzHJDhNK6XKMBSy
      FpA2ABlzukuK4+a6J7vZpXytwNyG+05Ox9w7+mZs7OrEJCOTgm9me8+eSIDTftt2
      Ge46Hdfo6hFmEWVVBitff9NlAx4rDIB1EtORBArYQEvfa/q31VOdNc6mbJ0JO2A=
      -----END ENCRYPTED PRIVATE KEY-----
      """
    #expect(throws: CryptoError.unusableKey(.malformed)) { try read(encrypted) }
  }

  @Test(arguments: [
    "", "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
      + "-----END PUBLIC KEY-----\n",
  ])
  func `text without a private key is rejected`(pem: String) {
    #expect(throws: CryptoError.unusableKey(.malformed)) { try read(pem) }
  }
}
