import Crypto
import Providers
import Store
import Testing
import Tokens

/// The email address, tier and profile of a valid token (checks 55 and 60).
struct AssertionTests {
  private func google(_ changes: [String: JSONValue?]) async throws -> Assertion {
    let issuer = Issuer(issuer: "https://accounts.google.com", key: Keys.rsa, algorithm: .rs256)
    let registry = try Registry([configured("google.com", clientIDs: ["client-1"])], fetching: ScriptedFetcher(issuer))
    return try await registry.verify(PresentedToken(idToken: try issuer.token(changes)), of: "google.com", at: now)
      .assertion
  }

  private func generic(_ trust: EmailTrust, _ changes: [String: JSONValue?]) async throws -> Assertion {
    let bench = try Bench { $0.emailTrust = trust }
    return try await bench.verify(try bench.issuer.token(changes)).assertion
  }

  @Test func `a name loses its control characters, and is cut instead of dropped`() async throws {
    let name = "Ann\tExample\r\n\u{202E}\u{1B}👩\u{200D}🚀"
    #expect(
      try await generic(.asserted(.unverified, authoritativeDomains: []), ["name": .string(name)]).displayName
        == "Ann Example 👩\u{200D}🚀")
    let long = String(repeating: "é", count: 600)
    #expect(
      try await generic(.asserted(.unverified, authoritativeDomains: []), ["name": .string(long)]).displayName
        == String(repeating: "é", count: 512))
  }

  @Test(arguments: [
    ("https://p.example/\na\u{202E}", "https://p.example/a"), ("java\tscript:x", ""),
    ("https://p.example/" + String(repeating: "x", count: 1_024), ""),
  ])
  func `a photo URL must be an https address without control characters`(url: String, kept: String) async throws {
    #expect(
      try await generic(.asserted(.unverified, authoritativeDomains: []), ["picture": .string(url)]).photoURL == kept)
  }

  @Test(arguments: ["https://accounts.google.com", "accounts.google.com"])
  func `google has two issuer names`(issuer: String) async throws {
    #expect(try await google(["iss": .string(issuer)]).identity.providerID == "google.com")
  }

  @Test(arguments: ["https://accounts.google.com/", "http://accounts.google.com", "ACCOUNTS.google.com"])
  func `check 42: any other issuer name of google is rejected`(issuer: String) async throws {
    await #expect(throws: ProviderRefusal.invalid(why: "ISSUER")) { try await google(["iss": .string(issuer)]) }
  }

  @Test(arguments: ["ann@gmail.com", "Ann@GMail.com", "ann@googlemail.com"])
  func `google is authoritative for its own mailboxes`(email: String) async throws {
    let assertion = try await google(["email": .string(email), "email_verified": .bool(true)])
    #expect(assertion.tier == .authoritative)
    #expect(assertion.email == email.lowercased())
  }

  @Test func `google is authoritative for the domain of an organisation that it hosts`() async throws {
    let assertion = try await google([
      "email": .string("ann@corp.com"), "email_verified": .bool(true), "hd": .string("corp.com"),
    ])
    #expect(assertion.tier == .authoritative)
  }

  @Test(arguments: [nil, .string(""), .bool(true)] as [JSONValue?])
  func `check 60: google without a hosted domain is verified, not authoritative`(hd: JSONValue?) async throws {
    let assertion = try await google(["email": .string("ann@corp.com"), "email_verified": .bool(true), "hd": hd])
    #expect(assertion.tier == .verified)
  }

  @Test(arguments: [
    "ann@gmail.com.example.org", "ann@mygmail.com", "ann@mail.gmail.com", "ann.gmail.com@example.org",
  ])
  func `check 60: a domain that only resembles Google's is not Google's`(email: String) async throws {
    #expect(try await google(["email": .string(email), "email_verified": .bool(true)]).tier == .verified)
  }

  @Test(arguments: [
    nil, .bool(false), .string("true"), .string("false"), .string("0"), .int(1), .null,
  ] as [JSONValue?])
  func `check 55: an address is unverified unless the claim is the boolean true`(claim: JSONValue?) async throws {
    let changes: [String: JSONValue?] = [
      "email": .string("ann@gmail.com"), "email_verified": claim, "hd": .string("gmail.com"),
    ]
    #expect(try await google(changes).tier == .unverified)
    let trusted = EmailTrust.asserted(.authoritative, authoritativeDomains: ["gmail.com"])
    #expect(try await generic(trusted, changes).tier == .unverified)
  }

  @Test(arguments: TrustTier.allCases)
  func `a generic provider has its configured tier`(tier: TrustTier) async throws {
    let changes: [String: JSONValue?] = ["email": .string("ann@corp.com"), "email_verified": .bool(true)]
    #expect(try await generic(.asserted(tier, authoritativeDomains: []), changes).tier == tier)
  }

  @Test func `a generic provider is unverified by default`() async throws {
    let bench = try Bench()
    let token = try bench.issuer.token(["email": .string("ann@corp.com"), "email_verified": .bool(true)])
    let assertion = try await bench.verify(token).assertion
    #expect(assertion.email == "ann@corp.com")
    #expect(assertion.tier == .unverified)
  }

  @Test(arguments: [
    (TrustTier.unverified, TrustTier.unverified), (.verified, .verified), (.authoritative, .verified),
  ])
  func `configured domains are authoritative, and then no other is`(
    tier: TrustTier, elsewhere: TrustTier
  ) async throws {
    let trust = EmailTrust.asserted(tier, authoritativeDomains: ["corp.com"])
    let inside: [String: JSONValue?] = ["email": .string("ann@CORP.com"), "email_verified": .bool(true)]
    #expect(try await generic(trust, inside).tier == .authoritative)
    let outside: [String: JSONValue?] = ["email": .string("ann@sub.corp.com"), "email_verified": .bool(true)]
    #expect(try await generic(trust, outside).tier == elsewhere)
  }

  @Test(arguments: [.string("not an address"), .string(""), .string("ann＠corp.com"), .int(1), nil] as [JSONValue?])
  func `an unusable address is dropped`(email: JSONValue?) async throws {
    let trust = EmailTrust.asserted(.authoritative, authoritativeDomains: [])
    let assertion = try await generic(trust, ["email": email, "email_verified": .bool(true)])
    #expect(assertion.email == nil)
    #expect(assertion.tier == .unverified)
  }

  @Test func `a user name is never used as an address`() async throws {
    let assertion = try await generic(
      .asserted(.verified, authoritativeDomains: []),
      ["preferred_username": .string("ann@corp.com"), "email_verified": .bool(true)])
    #expect(assertion.username == "ann@corp.com")
    #expect(assertion.email == nil)
  }

  @Test func `the profile is copied, and its document is kept as received`() async throws {
    let bench = try Bench()
    let profile: [String: JSONValue?] = [
      "name": .string("Ann Example"), "picture": .string("https://img.example.com/ann.png"),
      "preferred_username": .string("ann"), "locale": .string("de"),
    ]
    let assertion = try await bench.verify(try bench.issuer.token(profile)).assertion
    #expect(assertion.displayName == "Ann Example")
    #expect(assertion.photoURL == "https://img.example.com/ann.png")
    #expect(assertion.username == "ann")
    #expect(Array(assertion.profileJSON.utf8) == json(bench.issuer.claims(profile)))
  }

  @Test func `names lose control characters and excess length, and an invalid URL is left out`() async throws {
    let bench = try Bench()
    let assertion = try await bench.verify(
      try bench.issuer.token([
        "name": .string("Ann\0Admin"), "picture": .string("javascript:alert(1)"),
        "preferred_username": .string(String(repeating: "n", count: 1025)),
      ])
    ).assertion
    #expect(assertion.displayName == "AnnAdmin")
    #expect(assertion.photoURL == "")
    #expect(assertion.username == String(repeating: "n", count: 1024))
  }
}

struct RegistryTests {
  @Test func `a provider that is not configured is not enabled`() async throws {
    let bench = try Bench()
    let token = PresentedToken(idToken: try bench.issuer.token())
    for id in ["google.com", "oidc.corp2", "OIDC.corp", ""] {
      await #expect(throws: ProviderRefusal.notEnabled) { try await bench.registry.verify(token, of: id, at: now) }
    }
    await #expect(throws: ProviderRefusal.notEnabled) {
      try await bench.registry.start(Flow.request(), at: "google.com", at: now)
    }
  }

  @Test func `a bare access token proves no audience, and the error names the right credential`() async throws {
    let bench = try Bench()
    let refusal = await bench.refusal(of: "", accessToken: "ya29.opaque")
    guard case .audienceUnverifiable(let hint) = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(hint.contains("ID token"))
    #expect(bench.fetcher.asked.isEmpty)
  }

  @Test func `an empty credential is invalid`() async throws {
    #expect(await (try Bench()).refusal(of: "") == .invalid(why: "no token"))
  }

  @Test func `check 69: a wrong configuration is refused with the setting's name`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) -> String? {
      var settings = Issuer().settings
      change(&settings)
      do {
        _ = try Registry([settings], fetching: ScriptedFetcher())
        return nil
      } catch { return error.setting }
    }
    #expect(refused { _ in } == nil)
    for id in ["corp", "oidc.", "oidc.Corp", "oidc.a b", "google.org", "oidc.\(String(repeating: "a", count: 65))"] {
      #expect(refused { $0.id = id } == "id")
    }
    #expect(refused { $0.issuers = [] } == "issuers")
    #expect(refused { $0.issuers = ["http://idp.example.com"] } == "issuers")
    #expect(refused { $0.clientIDs = [] } == "client_ids")
    #expect(refused { $0.clientIDs = ["a", ""] } == "client_ids")
    #expect(refused { $0.algorithms = [] } == "algorithms")
    #expect(refused { $0.keys = .discovery(url: "http://idp.example.com") } == "discovery_url")
    #expect(refused { $0.keys = .jwks(url: "http://idp.example.com") } == "jwks_url")
    for domain in ["Corp.com", "cörp.com", "corp com", ""] {
      let trust = EmailTrust.asserted(.verified, authoritativeDomains: [domain])
      #expect(refused { $0.emailTrust = trust } == "authoritative_domains")
    }
  }

  @Test func `check 69: a duplicate provider is rejected`() {
    #expect(throws: ProviderSettingsError(provider: "oidc.corp", setting: "id", why: "is configured twice")) {
      try Registry([Issuer().settings, Issuer().settings], fetching: ScriptedFetcher())
    }
  }

  @Test func `the discovery URL follows from the issuer, with or without a slash`() {
    for issuer in ["https://idp.example.com/tenant", "https://idp.example.com/tenant/"] {
      #expect(
        ProviderSettings.discoveryURL(of: issuer)
          == "https://idp.example.com/tenant/.well-known/openid-configuration")
    }
  }
}
