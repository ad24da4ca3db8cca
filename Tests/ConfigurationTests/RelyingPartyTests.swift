import Identity
import Store
import TestSupport
import Testing
import WebAuthn

@testable import Configuration

private let hash = String(repeating: "A", count: 43)

private func parties(_ elements: String, _ more: String = "") throws(ConfigurationError) -> Settings {
  try settings("relying_parties: [\(elements)], \(more)")
}

private let site = "{ id: 'example.com', origins: ['https://example.com'] }"
private let other = "{ id: 'example.org', origins: ['https://example.org'] }"

@Test func `a relying party has defaults`() throws {
  let read = try parties(site)
  #expect(
    try read.relyingParties() == [
      RelyingParty(id: "example.com", name: "example.com", origins: ["https://example.com"])
    ])
  #expect(read.policy.passkeyEnabled && read.policy.relyingPartyIDs == ["example.com"])
  #expect(try !settings().policy.passkeyEnabled, "nothing to sign in with")
  #expect(try !parties(site, "policy: { passkey: false }").policy.passkeyEnabled)
}

@Test func `each setting of a relying party is read`() throws {
  let read = try parties(
    """
    { id: 'localhost', name: 'Example', origins: ['http://localhost:3000', 'https://a.localhost',
        'android:apk-key-hash:\(hash)'],
      top_origins: ['https://shop.example:8443'], user_verification: 'required', algorithms: ['EdDSA', 'ES256'] }
    """, "policy: { passkeys_per_account_max: 2, passkey_sign_count: 'reject' }")
  #expect(
    try read.relyingParties() == [
      RelyingParty(
        id: "localhost", name: "Example",
        origins: ["http://localhost:3000", "https://a.localhost", "android:apk-key-hash:\(hash)"],
        topOrigins: ["https://shop.example:8443"], userVerification: .required, algorithms: [.edDSA, .es256])
    ])
  #expect(read.policy.passkeysPerAccountMax == 2 && read.policy.passkeySignCount == .reject)
}

@Test(arguments: [
  "https://example.com", "https://www.example.com", "https://example.com:8443", "https://a-1.b.example.com",
])
func `an origin at the id or below it is accepted`(_ origin: String) throws {
  #expect(try parties("{ id: 'example.com', origins: ['\(origin)'] }").relyingParties()[0].origins == [origin])
}

@Test(arguments: [
  "http://example.com", "https://example.org", "https://badexample.com", "https://example.com/",
  "https://example.com:443", "https://example.com:0", "https://example.com:08443", "https://example.com:70000",
  "https://example.com:", "https://Example.com", "https://u@example.com", "https://example.com?", "https://", "",
  "example.com", "ftp://example.com", "https://com", "https://-a.example.com", "https://example.com.", "null",
  "android:apk-key-hash:AAAA", "android:apk-key-hash:\(hash)=", "ios:bundle-id:com.example",
])
func `an origin elsewhere, or that no client sends, is an error`(_ origin: String) {
  let error = refusal { try parties("{ id: 'example.com', origins: ['\(origin)'] }") }
  #expect(error?.setting == "relying_parties[0].origins")
}

@Test(arguments: [
  "", "com", "Example.com", "https://example.com", "example.com:443", "example.com.", "127.0.0.1", "a..b",
])
func `an id that is no domain is an error`(_ id: String) {
  let error = refusal { try parties("{ id: '\(id)', origins: ['https://example.com'] }") }
  #expect(error?.setting == "relying_parties[0].id")
}

@Test(arguments: [
  ("origins", "origins: []"), ("origins", "origins: ['https://example.com', 'https://example.com']"),
  ("top_origins", "top_origins: ['https://a.example/']"), ("top_origins", "top_origins: ['http://a.example']"),
  ("top_origins", "top_origins: ['https://a.example', 'https://a.example']"),
  ("user_verification", "user_verification: 'always'"), ("attestation", "attestation: 'indirect'"),
  ("attestation_roots_file", "attestation: 'direct'"), ("attestation_roots_file", "attestation_roots_file: 'a.pem'"),
  ("allowed_aaguids", "attestation: 'direct', attestation_roots_file: 'a.pem'"),
  ("allowed_aaguids", "allowed_aaguids: ['2fc0579f-8113-47ea-b116-bb5a8db9202a']"),
  ("allowed_aaguids", "attestation: 'direct', attestation_roots_file: 'a.pem', allowed_aaguids: ['2fc0']"),
  ("algorithms", "algorithms: []"), ("algorithms", "algorithms: ['ES384']"),
  ("algorithms", "algorithms: ['ES256', 'ES256']"), ("name", "name: '\(String(repeating: "a", count: 65))'"),
  ("nmae", "nmae: 'a'"),
])
func `a setting of a relying party that cannot work is an error`(_ name: String, _ text: String) {
  let origins = text.hasPrefix("origins") ? "" : "origins: ['https://example.com'], "
  let error = refusal { try parties("{ id: 'example.com', \(origins)\(text) }") }
  #expect(error?.setting == "relying_parties[0].\(name)")
}

@Test func `ids are unique, and callers name existing ones`() throws {
  #expect(refusal { try parties("\(site), \(site)") }?.setting == "relying_parties[1].id")
  let caller = "callers: [{ name: 'web', san: 'dns:a', relying_parties: ['example.org'] }]"
  #expect(refusal { try parties(site, caller) }?.setting == "callers[0].relying_parties")
  let twice = "callers: [{ name: 'web', san: 'dns:a', relying_parties: ['example.com', 'example.com'] }]"
  #expect(refusal { try parties(site, twice) }?.setting == "callers[0].relying_parties")
  let unidentified = "unidentified: { relying_parties: ['example.org'] }"
  #expect(refusal { try parties(site, unidentified) }?.setting == "unidentified.relying_parties")
}

@Test func `a caller has the relying parties that it names, otherwise the only one`() throws {
  let callers = """
    callers: [
      { name: 'web', san: 'dns:a', relying_parties: ['example.org', 'example.com'] }, { name: 'app', san: 'dns:b' },
    ]
    """
  let (web, app, nobody) = (CallerName("web"), CallerName("app"), CallerName("unidentified"))
  let both = try parties("\(site), \(other)", callers).relyingPartyIDs
  #expect(both == [web: ["example.org", "example.com"], app: [], nobody: []])
  #expect(try parties(site, "callers: [{ name: 'app', san: 'dns:b' }]").relyingPartyIDs[app] == ["example.com"])
  #expect(try parties(site).relyingPartyIDs == [nobody: ["example.com"]])
  #expect(try settings().relyingPartyIDs == [nobody: []])
}

@Test func `the certificates of an attestation are read from their file`() throws {
  let folder = try TemporaryFolder()
  let text = """
    { tls: { certificate_file: 'c', key_file: 'k' }, relying_parties: [{
        id: 'example.com', origins: ['https://example.com'], attestation: 'direct', attestation_roots_file: 'roots.pem',
        allowed_aaguids: ['2fc0579f-8113-47ea-b116-bb5a8db9202a'] }] }
    """
  let settings = try Settings.parse(Array(text.utf8), folder: folder.path, environment: [:])
  func fault() -> ConfigurationError? { refusal { try settings.relyingParties() } }
  #expect(fault()?.setting == "relying_parties[0].attestation_roots_file")
  try write("", to: folder.path + "/roots.pem")
  #expect(fault()?.why.contains("contains no PEM certificate") == true)
  try write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: folder.path + "/roots.pem")
  #expect(fault()?.why.contains("contains no PEM certificate") == true)
  let before = settings.contents()
  try write(root, to: folder.path + "/roots.pem")
  #expect(settings.contents() != before, "a reload reads the file again")
  guard case .direct(let trust) = try settings.relyingParties()[0].attestation else {
    Issue.record("no attestation is required")
    return
  }
  #expect(trust.rootsPEM == Array(root.utf8) && trust.allowedAAGUIDs.map(\.count) == [16])
}

@Test func `a relying party is named by its id in the changes of a reload`() throws {
  let old = try parties("{ id: 'example.com', name: 'Example', origins: ['https://example.com'] }").effective
  let new = try parties("{ id: 'example.com', name: 'Other', origins: ['https://example.com'] }").effective
  #expect(Settings.differences(old, new) == ["relying_parties[example.com].name"])
}

/// An authority of the tests of WebAuthn.
private let root = """
  -----BEGIN CERTIFICATE-----
  MIIBUTCB+aADAgECAhQPhyTPU/7n4QIhdrzxYtK9b/YIkDAKBggqhkjOPQQDAjAe
  MRwwGgYDVQQDDBNBdXRoZW50aWNhdG9ycyBSb290MCAXDTIwMDEwMTAwMDAwMFoY
  DzIxMjAwMTAxMDAwMDAwWjAeMRwwGgYDVQQDDBNBdXRoZW50aWNhdG9ycyBSb290
  MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEV0GRxCJXNlRtbmMFbvyEAEQD5TJJ
  Ba4H1HjbmLQonwMFG0RmriKewkcq5KUFcldV+5QVDr78btEuAGwavgOA86MTMBEw
  DwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiB/N4SZpmQ0a2WYCU9V
  rSH0PI08jfD7PvZD+2gpxF2POAIgQ1foIwY6ZnNXJJJ3AiS+w6Igu1Ainh31ja9e
  wPh15ZE=
  -----END CERTIFICATE-----

  """
