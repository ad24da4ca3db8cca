import Testing
import WebAuthn

@Suite struct OptionsTests {
  let site = RelyingParty(id: "example.com", name: "Example", origins: ["https://example.com"])

  @Test func creationOptionsAreTheStandardJSON() {
    let request = CreationRequest(
      challenge: [0xFB, 0xFF], userHandle: [1], userName: "a\"b", displayName: "Ada",
      excluded: [CredentialDescriptor(id: [2, 3], transports: ["usb", "nfc"])], timeoutMillis: 300_000, at: site)
    #expect(
      request.json() == """
        {"rp":{"name":"Example","id":"example.com"},"user":{"id":"AQ","name":"a\\"b","displayName":"Ada"},\
        "challenge":"-_8","pubKeyCredParams":[{"type":"public-key","alg":-7},{"type":"public-key","alg":-8},\
        {"type":"public-key","alg":-257}],"timeout":300000,"excludeCredentials":[{"type":"public-key","id":"AgM",\
        "transports":["usb","nfc"]}],"authenticatorSelection":{"residentKey":"preferred","requireResidentKey":false,\
        "userVerification":"preferred"},"attestation":"none","extensions":{"credProps":true}}
        """)
  }

  @Test func requestOptionsAreTheStandardJSON() {
    let descriptor = CredentialDescriptor(id: [2, 3], transports: [])
    let named = RequestOptions(challenge: [1], allowed: [descriptor], timeoutMillis: 1, at: site)
    #expect(
      named.json() == """
        {"challenge":"AQ","timeout":1,"rpId":"example.com","allowCredentials":[{"type":"public-key","id":"AgM"}],\
        "userVerification":"preferred"}
        """)
    let discoverable = RequestOptions(challenge: [1], allowed: [], timeoutMillis: 1, at: site)
    #expect(discoverable.json().contains("\"allowCredentials\":[]"))
  }
}
