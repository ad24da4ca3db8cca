import Callers
import Crypto
import Store
import Testing

private let everything = ["*"]
private let path = ["/latchkey.v1.AuthService/SignIn"]

/// `web` has a key and a certificate, `batch` only a key, `mesh` only a certificate.
private func table(unidentified: CallerSettings? = nil) -> CallerTable {
  CallerTable(
    [
      CallerSettings(
        name: "web", san: "uri:spiffe://test/web", apiKeys: [key("lk_web")], methods: everything,
        mayFetchByEmail: true, audiences: ["web", "web-legacy"]),
      CallerSettings(name: "batch", apiKeys: [key("lk_batch")], methods: everything, audiences: ["batch"]),
      CallerSettings(name: "mesh", san: "dns:mesh.internal.example", methods: everything, audiences: ["mesh"]),
    ],
    unidentified: unidentified, paths: path)
}

private let start = Timestamp(millis: 1_800_000_000_000)

private let loopback = CallerSettings(name: "unidentified", methods: everything, audiences: ["app"])

private func digest(_ key: String) -> Digest { Digest(sha256(Array(key.utf8))) }

private func key(_ key: String) -> APIKeySettings { APIKeySettings(digest: digest(key), name: key) }

extension CallerTable {
  fileprivate func identify(certificateName: String?, authorization: [UInt8]) throws(CallerRefusal) -> Caller {
    try identify(certificateName: certificateName, authorization: authorization, now: start)
  }
}

private func bearer(_ key: String) -> [UInt8] { Array("Bearer \(key)".utf8) }

@Test(arguments: ["uri:spiffe://test/web", "dns:mesh.internal.example"])
func `a certificate names its caller`(name: String) throws {
  let caller = try table().identify(certificateName: name, authorization: [])
  #expect(caller.name.text == (name == "uri:spiffe://test/web" ? "web" : "mesh"))
  #expect(caller.isIdentified)
}

@Test func `a key identifies its caller, with its configuration`() throws {
  let caller = try table().identify(certificateName: nil, authorization: bearer("lk_web"))
  #expect(caller.name == CallerName("web"))
  #expect(caller.isIdentified && caller.mayFetchByEmail)
  #expect(caller.audiences == ["web", "web-legacy"])
  #expect(try !table().identify(certificateName: nil, authorization: bearer("lk_batch")).mayFetchByEmail)
}

@Test(arguments: ["Bearer", "bearer", "BEARER"])
func `the scheme's case does not matter (RFC 9110 11.1)`(scheme: String) throws {
  let caller = try table().identify(certificateName: nil, authorization: Array("\(scheme) lk_batch".utf8))
  #expect(caller.name == CallerName("batch"))
}

@Test func `a certificate and a key of one caller go together`() throws {
  let caller = try table().identify(certificateName: "uri:spiffe://test/web", authorization: bearer("lk_web"))
  #expect(caller.credential == .both)
  #expect(caller.name == CallerName("web"))
}

@Test func `a certificate and a key of two callers are refused`() {
  #expect(throws: CallerRefusal.contradictory) {
    try table().identify(certificateName: "uri:spiffe://test/web", authorization: bearer("lk_batch"))
  }
  #expect(throws: CallerRefusal.contradictory) {
    try table(unidentified: loopback).identify(
      certificateName: "dns:mesh.internal.example", authorization: bearer("lk_web"))
  }
}

@Test(arguments: [
  "Bearer lk_wrong", "Bearer lk_web ", "Bearer  lk_web", "Bearer lk_", "Bearer web", "Bearer LK_web", "Bearer ",
  "Bearer", "Basic lk_web", "lk_web", "Bearerlk_web", "Bearer\0lk_web", " ",
])
func `an unknown key never falls back to the unidentified caller`(authorization: String) {
  let table = table(unidentified: loopback)
  #expect(throws: CallerRefusal.unknown) {
    try table.identify(certificateName: nil, authorization: Array(authorization.utf8))
  }
}

@Test(arguments: [
  "Bearer lk_wrong", "Bearer lk_web ", "Bearer  lk_web", "Bearer lk_", "Bearer LK_web", "Basic lk_web", "lk_web",
  "Bearer lk_web, Bearer lk_web", "Basic eDp5, Bearer lk_web",
])
func `a malformed API key never falls back to the certificate`(authorization: String) {
  #expect(throws: CallerRefusal.unknown) {
    try table().identify(certificateName: "uri:spiffe://test/web", authorization: Array(authorization.utf8))
  }
}

@Test(arguments: [
  "Bearer eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJsa18ifQ.c2ln", "bearer web", "Bearer", "Bearer ", "Basic eDp5", "DPoP abc",
  "Negotiate YII=", " ", "Bearer l", "Bearer lk", "Bearer lk-web", "Bearer alk_web",
])
func `another authorization value is ignored if the certificate names a caller`(authorization: String) throws {
  let caller = try table().identify(
    certificateName: "uri:spiffe://test/web", authorization: Array(authorization.utf8))
  #expect(caller.name == CallerName("web") && caller.credential == .certificate)
}

@Test func `a token that is not an API key does not make an unknown certificate valid`() {
  for name in ["uri:spiffe://test/stranger", ""] {
    #expect(throws: CallerRefusal.unknown) {
      try table(unidentified: loopback).identify(certificateName: name, authorization: bearer("eyJ"))
    }
  }
}

@Test func `a caller records which credential identified it`() throws {
  let table = table(unidentified: loopback)
  #expect(try table.identify(certificateName: nil, authorization: bearer("lk_web")).credential == .apiKey)
  #expect(try table.identify(certificateName: "uri:spiffe://test/web", authorization: []).credential == .certificate)
  #expect(try table.identify(certificateName: nil, authorization: []).credential == .none)
  #expect(Caller.anyone.credential == .none)
}

@Test func `a certificate's DNS name never matches a URI, nor a URI a DNS name`() {
  for name in ["dns:spiffe://test/web", "uri:mesh.internal.example", "spiffe://test/web", "mesh.internal.example"] {
    #expect(throws: CallerRefusal.unknown) { try table().identify(certificateName: name, authorization: []) }
  }
}

@Test func `an unknown certificate is rejected with any key`() {
  for table in [table(), table(unidentified: loopback)] {
    for authorization in [[], bearer("lk_web")] {
      #expect(throws: CallerRefusal.unknown) {
        try table.identify(certificateName: "uri:spiffe://test/stranger", authorization: authorization)
      }
    }
  }
}

@Test func `an unknown certificate is not treated as no certificate`() {
  #expect(throws: CallerRefusal.unknown) {
    try table(unidentified: loopback).identify(certificateName: "", authorization: [])
  }
}

@Test func `names in certificates are compared letter by letter`() {
  for name in ["uri:spiffe://test/WEB", "uri:spiffe://test/web/", "uri:spiffe://test/we", "dns:MESH.internal.example"] {
    #expect(throws: CallerRefusal.unknown) { try table().identify(certificateName: name, authorization: []) }
  }
}

@Test func `a caller without credentials is rejected, unless unidentified callers are allowed`() throws {
  #expect(throws: CallerRefusal.unidentified) { try table().identify(certificateName: nil, authorization: []) }
  let caller = try table(unidentified: loopback).identify(certificateName: nil, authorization: [])
  #expect(caller.name == CallerName("unidentified"))
  #expect(!caller.isIdentified)
  #expect(caller.rights.include(methodNumber: 0))
}

@Test func `several keys of a caller are valid at the same time, each until its end`() throws {
  let end = start.adding(millis: 10_000)
  let old = APIKeySettings(digest: digest("lk_old"), notAfter: end, name: "old")
  let table = CallerTable(
    [CallerSettings(name: "web", apiKeys: [old, key("lk_new")], methods: everything, audiences: ["web"])],
    unidentified: loopback, paths: path)
  func caller(_ key: String, at now: Timestamp) throws(CallerRefusal) -> Caller {
    try table.identify(certificateName: nil, authorization: bearer(key), now: now)
  }
  for (key, name) in [("lk_old", "old"), ("lk_new", "lk_new")] {
    let caller = try caller(key, at: end.adding(millis: -1))
    #expect(caller.name == CallerName("web") && caller.apiKey?.name == name)
  }
  #expect(throws: CallerRefusal.expired(caller: CallerName("web"), key: "old")) { try caller("lk_old", at: end) }
  #expect(try caller("lk_new", at: end).name == CallerName("web"))
}

@Test func `a key ends soon from 14 days before its end on`() {
  let day: Int64 = 86_400_000
  let settings = APIKeySettings(digest: digest("lk_a"), notAfter: start.adding(millis: 14 * day), name: "a")
  let table = CallerTable(
    [CallerSettings(name: "web", apiKeys: [settings, key("lk_b")], methods: [], audiences: [])], unidentified: nil,
    paths: path)
  let keys = table.apiKeys
  #expect(keys.map { $0.endsSoon(at: start.adding(millis: -1)) } == [false, false])
  #expect(keys.map { $0.endsSoon(at: start) } == [true, false])
  #expect(keys.map { $0.isExpired(at: start.adding(millis: 14 * day)) } == [true, false])
}

@Test func `the last use of a key survives a new table, but not another caller or key`() throws {
  func keys(_ name: String, previous: [APIKey]) -> [APIKey] {
    let settings = CallerSettings(name: name, apiKeys: [key("lk_a")], methods: [], audiences: [])
    return CallerTable([settings], unidentified: nil, paths: path, previous: previous).apiKeys
  }
  let first = keys("web", previous: [])
  #expect(first[0].lastUseMillis == 0)
  first[0].used(nowMillis: 5_000)
  first[0].used(nowMillis: 5_999)
  #expect(first[0].lastUseMillis == 5_000, "at most one write a second")
  first[0].used(nowMillis: 6_000)
  #expect(keys("web", previous: first)[0].lastUseMillis == 6_000)
  #expect(keys("shop", previous: first)[0].lastUseMillis == 0)
}
