import Crypto
import HTTPClient
import Providers
import Store
import Testing
import Tokens

/// The userinfo of a flow, which complements the ID token.
struct UserinfoTests {
  @Test(arguments: ["email", "name"])
  func `claims that the ID token lacks are read from userinfo, with its access token`(missing: String) async throws {
    let bench = try FlowBench { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    try bench.redeems(bench.claims([missing: nil]))
    bench.answers(
      bench.profileURL,
      [
        "sub": .string("person-1"), "email": .string("bob@corp.com"), "email_verified": .bool(true),
        "name": .string("Bob"),
      ])
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == (missing == "email" ? "bob@corp.com" : "ann@corp.com"))
    #expect(assertion.displayName == (missing == "name" ? "Bob" : "Ann Example"))
    #expect(assertion.profileJSON.contains("bob@corp.com"))
    let request = try #require(bench.fetcher.requests.last)
    #expect(request.fields.contains(.init("authorization", "Bearer access-1")) && request.body == nil)
  }

  @Test(arguments: [("email", .null), ("email", .string("")), ("name", .null), ("name", .string(""))] as [(
    String, JSONValue
  )])
  func `claims that are empty in the ID token are read from userinfo too`(name: String, empty: JSONValue) async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims([name: empty]))
    bench.answers(
      bench.profileURL, ["sub": .string("person-1"), "email": .string("bob@corp.com"), "name": .string("Bob")])
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == (name == "email" ? "bob@corp.com" : "ann@corp.com"))
    #expect(assertion.displayName == (name == "name" ? "Bob" : "Ann Example"))
  }

  // MARK: The email_verified flag

  private static let trusts: [(EmailTrust, TrustTier)] = [
    (.asserted(.verified, authoritativeDomains: []), .verified),
    (.asserted(.unverified, authoritativeDomains: ["corp.com"]), .authoritative), (.google, .verified),
  ]

  @Test(arguments: trusts, [nil, .null] as [JSONValue?])
  func `email_verified is read from userinfo if it matters and the ID token lacks it`(
    trust: (EmailTrust, TrustTier), flag: JSONValue?
  ) async throws {
    let bench = try FlowBench { $0.emailTrust = trust.0 }
    try bench.redeems(bench.claims(["email_verified": flag]))
    bench.answers(
      bench.profileURL,
      ["sub": .string("person-1"), "email": .string("ann@corp.com"), "email_verified": .bool(true)])
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == "ann@corp.com" && assertion.tier == trust.1)
    #expect(assertion.displayName == "Ann Example")
  }

  @Test func `email_verified is not read from userinfo if it does not matter or the ID token denies it`() async throws {
    let unverified = try FlowBench()
    try unverified.redeems(unverified.claims(["email_verified": nil]))
    #expect(try await unverified.finish().assertion.tier == .unverified)
    let verified = try FlowBench { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    try verified.redeems(verified.claims(["email_verified": .bool(false)]))
    #expect(try await verified.finish().assertion.tier == .unverified)
    for bench in [unverified, verified] { #expect(!bench.fetcher.asked.contains(bench.profileURL)) }
  }

  /// An ID token and userinfo, each with address and flag, and the resulting address and tier.
  private static let words: [(JSONValue?, JSONValue?, JSONValue?, JSONValue?, String, TrustTier)] = [
    // The flag without the address.
    (nil, .bool(true), .string("bob@corp.com"), nil, "bob@corp.com", .unverified),
    (.string("ann@corp.com"), nil, nil, .bool(true), "ann@corp.com", .unverified),
    (.string("ann@corp.com"), nil, .string(""), .bool(true), "ann@corp.com", .unverified),
    // Both have addresses, but only one has the flag.
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), .bool(true), "bob@corp.com", .verified),
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), .bool(false), "bob@corp.com", .unverified),
    (.string("ann@corp.com"), .bool(true), .string("bob@corp.com"), .bool(false), "ann@corp.com", .verified),
    (.string("ann@corp.com"), .bool(false), .string("ann@corp.com"), .bool(true), "ann@corp.com", .unverified),
    // Neither has the flag.
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), nil, "ann@corp.com", .unverified),
  ]

  @Test(arguments: words)
  func `email_verified in one document never applies to the address in another`(
    word: (JSONValue?, JSONValue?, JSONValue?, JSONValue?, email: String, tier: TrustTier)
  ) async throws {
    let bench = try FlowBench {
      $0.emailTrust = .asserted(.verified, authoritativeDomains: [])
      $0.profileUse = .always
    }
    try bench.redeems(bench.claims(["email": word.0, "email_verified": word.1]))
    var profile: [String: JSONValue] = ["sub": .string("person-1")]
    profile["email"] = word.2
    profile["email_verified"] = word.3
    bench.answers(bench.profileURL, profile)
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == word.email && assertion.tier == word.tier)
  }

  // MARK: Invalid userinfo

  @Test(arguments: [.string("person-2"), .string("Person-1"), .int(1), nil] as [JSONValue?])
  func `check 51: userinfo of another subject is refused`(subject: JSONValue?) async throws {
    let bench = try FlowBench { $0.profileUse = .always }
    try bench.redeems(bench.claims())
    bench.answers(bench.profileURL, subject.map { ["sub": $0] } ?? [:])
    #expect(await bench.refusal() == .invalid(why: "the profile belongs to another subject"))
  }

  @Test(arguments: [
    (401, "invalid"), (403, "invalid"), (404, "misconfigured"), (500, "unavailable"), (200, "unavailable"),
  ])
  func `check 68: a flow does not complete without its userinfo`(status: Int, name: String) async throws {
    let bench = try FlowBench { $0.profileUse = .always }
    try bench.redeems(bench.claims())
    bench.answers(bench.profileURL, text: "<html>", status: status)
    #expect(await bench.refusal()?.name == name)
  }

  // MARK: Signed answers

  private func serve(_ bench: FlowBench, signed token: String, as type: String = "application/jwt") {
    let answer = FetchedBody(status: 200, contentType: type, bytes: Array(token.utf8))
    bench.fetcher.answer(bench.profileURL, .success(answer))
  }

  private func bench() throws -> FlowBench {
    let bench = try FlowBench { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    try bench.redeems(bench.claims(["email": nil]))
    return bench
  }

  /// The claims of an answer, without optional ones.
  private let said: [String: JSONValue?] = [
    "email": .string("bob@corp.com"), "email_verified": .bool(true), "exp": nil, "iat": nil, "iss": nil, "aud": nil,
  ]

  @Test(arguments: ["application/jwt", "Application/JWT; charset=utf-8"])
  func `the claims of signed userinfo are accepted`(type: String) async throws {
    let bench = try bench()
    let whole = said.merging(["iss": .string(bench.issuer.issuer), "aud": .array([.string("client-1")])]) { $1 }
    for claims in [said, whole] {
      serve(bench, signed: try bench.issuer.token(claims), as: type)
      let assertion = try await bench.finish().assertion
      #expect(assertion.email == "bob@corp.com" && assertion.tier == .verified)
      #expect(assertion.profileJSON.hasPrefix("{") && assertion.profileJSON.contains("bob@corp.com"))
    }
  }

  @Test(arguments: [
    (["iss": .string("https://other.example.com")], "ISSUER"), (["iss": .null], "ISSUER"),
    (["aud": .string("client-2")], "AUDIENCE"), (["aud": .array([])], "AUDIENCE"),
    (["sub": .string("person-2")], "the profile belongs to another subject"),
    (["sub": nil], "the profile belongs to another subject"),
  ] as [([String: JSONValue?], String)])
  func `signed userinfo of another issuer, client or subject is rejected`(
    changes: [String: JSONValue?], why: String
  ) async throws {
    let bench = try bench()
    serve(bench, signed: try bench.issuer.token(said.merging(changes) { $1 }))
    #expect(await bench.refusal() == .invalid(why: why))
  }

  @Test func `userinfo with a foreign signature, or none, is rejected`() async throws {
    let bench = try bench()
    serve(bench, signed: try Issuer(key: Keys.otherP256).token(said))
    #expect(await bench.refusal() == .invalid(why: "BAD_SIGNATURE"))
    serve(bench, signed: try Issuer(key: Keys.p384, algorithm: .es384).token(said))
    #expect(await bench.refusal() == .invalid(why: "ALGORITHM_NOT_PINNED"))
    serve(bench, signed: #"{"sub":"person-1","email":"bob@corp.com"}"#)
    #expect(await bench.refusal()?.name == "invalid")
    serve(bench, signed: try bench.issuer.token(said), as: "application/json")
    #expect(await bench.refusal()?.name == "unavailable")
  }

  @Test func `check 53: a new key of signed userinfo is fetched immediately`() async throws {
    let bench = try bench()
    _ = try await bench.start()
    let renewed = Issuer(key: Keys.otherP256, keyID: "k2")
    let both = JSONValue.object([JSONMember("keys", .array([bench.issuer.jwk, renewed.jwk]))])
    bench.fetcher.answer(bench.issuer.keysURL, .success(FetchedBody(status: 200, bytes: json(both))))
    serve(bench, signed: try renewed.token(said))
    let verified = try await bench.registry.finish(Flow.callback(), of: Flow.begun, at: bench.id, at: later(seconds: 1))
    #expect(verified.assertion.email == "bob@corp.com")
  }

  @Test func `userinfo is not read if it is disabled`() async throws {
    let bench = try FlowBench { $0.profileUse = .never }
    try bench.redeems(bench.claims(["email": nil, "name": nil]))
    #expect(try await bench.finish().assertion.email == nil)
    #expect(!bench.fetcher.asked.contains(bench.profileURL))
  }
}
