import Callers
import Crypto
import Store
import Testing

private let hash = String(repeating: "ab", count: 32)
private let now = Timestamp(millis: 1_800_000_000_000)

@Test(arguments: [
  ("", nil), ("Hash=\(hash);URI=spiffe://test/web", "uri:spiffe://test/web"),
  ("By=spiffe://test/us;Hash=\(hash);Subject=\"CN=a, O=b;c\";URI=;DNS=web.example", "dns:web.example"),
  ("By=spiffe://test/us;Hash=\(hash);Subject=\"CN=a, O=\\\"b\\\";c\";DNS=Web.Example", "dns:web.example"),
  ("URI=spiffe://a;URI=spiffe://b;DNS=c", "uri:spiffe://a"), ("dns=a;uri=spiffe://b", "uri:spiffe://b"),
  ("Hash=\(hash)", ""), ("URI=spiffe://attacker,URI=spiffe://nearest", "uri:spiffe://nearest"),
  ("URI=spiffe://attacker;Hash=no, Hash=\(hash);DNS=near", "dns:near"), ("URI=\"spiffe://a,b\"", "uri:spiffe://a,b"),
  ("Chain=x;URI=spiffe://a", "uri:spiffe://a"), ("Hash=\(hash);URI=", ""), ("Hash=\(hash);URI=\"\";DNS=", ""),
  ("URI=;URI=spiffe://a", "uri:spiffe://a"), ("URI=spiffe://attacker,Hash=\(hash);URI=", ""),
] as [(String, String?)])
func `the last element names the certificate, by its first URI or DNS name`(field: String, name: String?) throws {
  do {
    let found = try ForwardedCertificate.name(Array(field.utf8))
    #expect(found == name)
  } catch {
    #expect(name == "malformed")
  }
}

@Test(arguments: [
  "URI", "=x", "URI=", "URI=;DNS=", "Hash=", "Hash=abc;URI=spiffe://a",
  "Hash=\(hash);Hash=\(hash.replacing("ab", with: "cd"))", ",",
  "URI=spiffe://a,", ",URI=spiffe://a", "URI=\"spiffe://a", "URI=spi\"ffe", "URI=\"a\"b", "URI=a b", "URI=\u{E9}",
  ";URI=a", "URI=a;", "Subject=\"x\"", "URI=\"a\\\"",
])
func `a malformed field is rejected`(field: String) {
  #expect(throws: ForwardedCertificate.Malformed.self) { try ForwardedCertificate.name(Array(field.utf8)) }
}

private func table() -> CallerTable {
  let key = APIKeySettings(digest: Digest(sha256(Array("lk_shop".utf8))), name: "shop")
  return CallerTable(
    [
      CallerSettings(name: "web", san: "uri:spiffe://test/web", methods: ["*"], audiences: ["web"]),
      CallerSettings(name: "shop", san: "dns:shop", apiKeys: [key], methods: ["*"], audiences: ["shop"]),
    ],
    unidentified: nil, paths: [], trustedProxies: ["uri:spiffe://test/proxy"])
}

private func identify(_ forwarded: String, key: String? = nil) throws(CallerRefusal) -> Caller {
  try table().identify(
    forwarded: Array(forwarded.utf8), authorization: key.map { Array("Bearer \($0)".utf8) } ?? [], now: now)
}

@Test func `a trusted proxy passes on its client's certificate or key, which must name one caller`() throws {
  let web = try identify("Hash=\(hash);URI=spiffe://test/web")
  #expect(web.name == CallerName("web") && web.credential == .forwarded && web.isIdentified)
  #expect(try identify("", key: "lk_shop").credential == .apiKey)
  let both = try identify("DNS=SHOP", key: "lk_shop")
  #expect(both.name == CallerName("shop") && both.credential == .both)
  #expect(throws: CallerRefusal.contradictory) { try identify("URI=spiffe://test/web", key: "lk_shop") }
  #expect(throws: CallerRefusal.unknown) { try identify("URI=spiffe://test/other") }
  #expect(throws: CallerRefusal.unknown) { try identify("Hash=\(hash)") }
  #expect(throws: CallerRefusal.unknown) { try identify("", key: "lk_no") }
  #expect(throws: CallerRefusal.unidentified) { try identify("") }
  #expect(throws: CallerRefusal.malformedForward) { try identify("URI") }
}

@Test func `only the names of trusted proxies are trusted, and these are no callers`() {
  #expect(table().trusts("uri:spiffe://test/proxy"))
  for name in [nil, "", "uri:spiffe://test/web", "dns:shop", "uri:spiffe://test/proxy2"] {
    #expect(!table().trusts(name))
  }
  #expect(throws: CallerRefusal.unknown) {
    try table().identify(certificateName: "uri:spiffe://test/proxy", authorization: [], now: now)
  }
}
