import Crypto
import Store
import Testing
import Tokens

@testable import Providers

private let document = """
  {"sub": "s", "emails": ["ann@corp.com", {"value": "bob@corp.com", "ok": true}], "n": [[1, 2], [3]],
   "data": {"ids": [7, "u-1", "", null, 1.5, true, [8], {"id": "deep"}]}, "a.b": {"c": "dotted"},
   "https://corp.example/emails": ["url@corp.com"], "odd[0]": "literal", "odd": ["element"], "empty": []}
  """

private func value(_ path: String) throws -> JSONValue? {
  try JSONValue.parse(Array(document.utf8), byteCountMax: 65_536).member(at: path)
}

@Test(arguments: [
  ("emails[0]", .string("ann@corp.com")), ("emails[1].value", .string("bob@corp.com")),
  ("emails[1].ok", .bool(true)), ("n[0][1]", .int(2)), ("n[1][0]", .int(3)), ("data.ids[0]", .int(7)),
  ("data.ids[7].id", .string("deep")), ("a.b.c", .string("dotted")), ("data.ids[6][0]", .int(8)),
  ("https://corp.example/emails[0]", .string("url@corp.com")), ("odd[0]", .string("literal")),
] as [(String, JSONValue)])
func `a path leads into objects and arrays, and a literal name precedes it`(path: String, expected: JSONValue) throws {
  #expect(try value(path) == expected)
}

@Test(arguments: [
  "emails[2]", "emails[999]", "empty[0]", "sub[0]", "data[0]", "data.ids.0", "emails.value", "emails[0].value",
  "emails[1][0]", "n[0][2]", "n[2][0]", "none[0]", "none.of", "emails[-1]", "emails[00]", "emails[]", "emails[x]",
  "emails[99999999999999999999]", "emails[0", "emails]0[", "[0]", ".", "", "emails[ 0]", "emails[+0]", "data..ids",
])
func `a missing element and a step into another type have no value`(path: String) throws {
  #expect(try value(path) == nil)
}

@Test(arguments: [
  ("sub", true), ("data.id", true), ("emails[0]", true), ("emails[999].value", true), ("n[0][1]", true),
  ("https://corp.example/emails[0].value", true), ("", true), ("a.b[0].c[1].d", true),
  ("emails[1000]", false), ("emails[-1]", false), ("emails[01]", false), ("emails[]", false), ("emails[x]", false),
  ("emails[0", false), ("emails0]", false), ("[0]", false), ("emails[0]value", false), ("emails[0].", false),
  ("emails[0]x[1]", false), ("emails[0].[1]", false), ("emails[99999999999999999999]", false),
] as [(String, Bool)])
func `a configured path is checked at the start`(path: String, isValid: Bool) {
  #expect((ClaimPath.fault(of: path) == nil) == isValid)
}

@Test func `a path has at most 256 bytes`() {
  #expect(ClaimPath.fault(of: String(repeating: "x", count: 256)) == nil)
  #expect(ClaimPath.fault(of: String(repeating: "x", count: 257)) != nil)
}

/// `sub` by path, at both kinds of generic providers.
struct SubjectPathTests {
  private let issuer = Issuer()

  private func subject(_ path: String) async throws -> String {
    var settings = try #require(ProviderSettings.standard(id: "oauth2.forge"))
    settings.clientIDs = ["client-1"]
    settings.client.secret = Secret(copying: Array("s3cret".utf8))
    settings.endpoints = Endpoints(
      authorization: "https://forge.example/in", token: "https://forge.example/token",
      profile: "https://forge.example/me")
    settings.claims.subject = path
    settings.claims.email = "emails[1].value"
    let bench = try FlowBench(settings, issuer)
    bench.answers(bench.tokenURL, ["access_token": .string("access-1"), "token_type": .string("bearer")])
    bench.answers(bench.profileURL, text: document)
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == "bob@corp.com")
    return assertion.identity.subject
  }

  @Test func `a subject is a text or an integer at its path`() async throws {
    #expect(try await subject("data.ids[0]") == "7")
    #expect(try await subject("data.ids[1]") == "u-1")
    #expect(try await subject("data.ids[7].id") == "deep")
  }

  @Test(arguments: [2, 3, 4, 5, 6, 7, 8, 999])
  func `an empty text, null, a fraction, a flag, a list, an object and nothing are no subject`(index: Int) async {
    await #expect(throws: ProviderRefusal.invalid(why: "SUBJECT")) { try await subject("data.ids[\(index)]") }
  }

  @Test func `the subject of an ID token may be an element of a claim`() async throws {
    var settings = try #require(ProviderSettings.standard(id: "oidc.corp"))
    settings.issuers = [issuer.issuer]
    settings.clientIDs = ["client-1"]
    settings.algorithms = [issuer.algorithm]
    settings.keys = .discovery(url: issuer.discoveryURL)
    settings.claims.subject = "ids[1].value"
    let bench = try FlowBench(settings, issuer)
    func subject(_ ids: JSONValue) async throws -> String {
      let token = PresentedToken(idToken: try issuer.token(["ids": ids]))
      return try await bench.registry.verify(token, of: "oidc.corp", at: now).assertion.identity.subject
    }
    let entry = JSONValue.object([JSONMember("value", .string("u-2"))])
    #expect(try await subject(.array([.int(1), entry])) == "u-2")
    for ids in [.array([entry]), entry, .string("u-2"), .null, .array([.int(1), .string("u-2")])] as [JSONValue] {
      await #expect(throws: ProviderRefusal.invalid(why: "SUBJECT")) { try await subject(ids) }
    }
  }
}
