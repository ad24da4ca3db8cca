import Fetch
import Providers
import Store
import Testing
import Tokens

/// What is said beside the ID token of a flow.
struct UserinfoTests {
  @Test(arguments: ["email", "name"])
  func `what the ID token lacks is asked of userinfo, with its access token`(missing: String) async throws {
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
  func `what the ID token has and leaves empty is asked of userinfo too`(name: String, empty: JSONValue) async throws {
    let bench = try FlowBench()
    try bench.redeems(bench.claims([name: empty]))
    bench.answers(
      bench.profileURL, ["sub": .string("person-1"), "email": .string("bob@corp.com"), "name": .string("Bob")])
    let assertion = try await bench.finish().assertion
    #expect(assertion.email == (name == "email" ? "bob@corp.com" : "ann@corp.com"))
    #expect(assertion.displayName == (name == "name" ? "Bob" : "Ann Example"))
  }

  // MARK: The word on the address

  private static let trusts: [(EmailTrust, TrustTier)] = [
    (.asserted(.verified, authoritativeDomains: []), .verified),
    (.asserted(.unverified, authoritativeDomains: ["corp.com"]), .authoritative), (.google, .verified),
  ]

  @Test(arguments: trusts, [nil, .null] as [JSONValue?])
  func `where the word on the address counts and only userinfo has it, it is asked and believed`(
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

  @Test func `where it does not count, or the ID token says no, userinfo is not asked for it`() async throws {
    let unverified = try FlowBench()
    try unverified.redeems(unverified.claims(["email_verified": nil]))
    #expect(try await unverified.finish().assertion.tier == .unverified)
    let verified = try FlowBench { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) }
    try verified.redeems(verified.claims(["email_verified": .bool(false)]))
    #expect(try await verified.finish().assertion.tier == .unverified)
    for bench in [unverified, verified] { #expect(!bench.fetcher.asked.contains(bench.profileURL)) }
  }

  /// An ID token and userinfo: address and word of each, and what is believed.
  private static let words: [(JSONValue?, JSONValue?, JSONValue?, JSONValue?, String, TrustTier)] = [
    // The word stands where the address does not.
    (nil, .bool(true), .string("bob@corp.com"), nil, "bob@corp.com", .unverified),
    (.string("ann@corp.com"), nil, nil, .bool(true), "ann@corp.com", .unverified),
    (.string("ann@corp.com"), nil, .string(""), .bool(true), "ann@corp.com", .unverified),
    // Both have addresses, and one has the word beside it.
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), .bool(true), "bob@corp.com", .verified),
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), .bool(false), "bob@corp.com", .unverified),
    (.string("ann@corp.com"), .bool(true), .string("bob@corp.com"), .bool(false), "ann@corp.com", .verified),
    (.string("ann@corp.com"), .bool(false), .string("ann@corp.com"), .bool(true), "ann@corp.com", .unverified),
    // Neither has one.
    (.string("ann@corp.com"), nil, .string("bob@corp.com"), nil, "ann@corp.com", .unverified),
  ]

  @Test(arguments: words)
  func `one document never vouches for the address in another`(
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

  // MARK: What userinfo may not be

  @Test(arguments: [.string("person-2"), .string("Person-1"), .int(1), nil] as [JSONValue?])
  func `check 51: userinfo of another subject is refused`(subject: JSONValue?) async throws {
    let bench = try FlowBench { $0.profileUse = .always }
    try bench.redeems(bench.claims())
    bench.answers(bench.profileURL, subject.map { ["sub": $0] } ?? [:])
    #expect(await bench.refusal() == .invalid(why: "the profile is of another subject"))
  }

  @Test(arguments: [
    (401, "invalid"), (403, "invalid"), (404, "unavailable"), (500, "unavailable"), (200, "unavailable"),
  ])
  func `check 68: userinfo that cannot be had ends no flow`(status: Int, name: String) async throws {
    let bench = try FlowBench { $0.profileUse = .always }
    try bench.redeems(bench.claims())
    bench.answers(bench.profileURL, text: "<html>", status: status)
    #expect(await bench.refusal()?.name == name)
  }

  @Test func `userinfo is never asked where configuration says so`() async throws {
    let bench = try FlowBench { $0.profileUse = .never }
    try bench.redeems(bench.claims(["email": nil, "name": nil]))
    #expect(try await bench.finish().assertion.email == nil)
    #expect(!bench.fetcher.asked.contains(bench.profileURL))
  }
}
