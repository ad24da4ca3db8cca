import Crypto
import HTTPClient
import Store
import Testing
import Tokens

@testable import Providers

private let corp = "11111111-2222-3333-4444-555555555555"
private let other = "99999999-2222-3333-4444-555555555555"
private let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"
private let object = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"

struct MicrosoftTests {
  private func issuer(_ tenant: String = "{tenantid}") -> Issuer {
    Issuer(issuer: "https://login.microsoftonline.com/\(tenant)/v2.0", key: Keys.rsa, algorithm: .rs256)
  }

  private func bench(
    tenant: String = "common", metadata: String = "{tenantid}", announcing: Bool = false,
    _ change: (inout ProviderSettings) -> Void = { _ in }
  ) throws -> FlowBench {
    var settings = try #require(ProviderSettings.standard(id: "microsoft.com"))
    settings.clientIDs = ["client-1"]
    settings.client.secret = Secret(copying: Array("s3cret".utf8))
    settings.tenants.tenant = tenant
    change(&settings)
    // The bench serves the document at the URL that the adapter uses.
    var served = settings
    served.endpoints.token = settings.endpoints.token.replacing("{tenant}", with: tenant)
    let discovery = "https://login.microsoftonline.com/\(tenant)/v2.0/.well-known/openid-configuration"
    served.keys = .discovery(url: discovery)
    return try FlowBench(
      served, issuer(metadata), metadata: ["authorization_response_iss_parameter_supported": .bool(announcing)])
  }

  private func claims(_ bench: FlowBench, tenant: String = corp, _ changes: [String: JSONValue?] = [:])
    -> [String: JSONValue?]
  {
    let own: [String: JSONValue?] = [
      "iss": .string("https://login.microsoftonline.com/\(tenant)/v2.0"), "tid": .string(tenant),
      "oid": .string(object), "email_verified": nil,
    ]
    return bench.claims(own.merging(changes) { _, changed in changed })
  }

  private func finished(_ bench: FlowBench, tenant: String = corp, _ changes: [String: JSONValue?] = [:]) async throws
    -> Assertion
  {
    try bench.redeems(claims(bench, tenant: tenant, changes))
    return try await bench.finish().assertion
  }

  private func refused(_ bench: FlowBench, tenant: String = corp, _ changes: [String: JSONValue?] = [:]) async throws
    -> ProviderRefusal?
  {
    try await bench.refusal(claims(bench, tenant: tenant, changes))
  }

  @Test func `a flow begins in the configured tenant`() async throws {
    let request = Flow.request(parameters: ["domain_hint": "corp.com"], freshLogin: true)
    #expect(
      try await bench(tenant: corp, metadata: corp).start(request).authorizationURL
        == "https://login.microsoftonline.com/\(corp)/oauth2/v2.0/authorize?client_id=client-1"
        + "&code_challenge=\(Flow.challenge)&code_challenge_method=S256&domain_hint=corp.com&max_age=1"
        + "&nonce=\(Flow.nonce)&prompt=login"
        + "&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback%3Ffrom%3Dus&response_type=code"
        + "&scope=openid%20email%20profile&state=\(Flow.state)")
  }

  @Test func `the subject is the directory and object id, not the address or sub`() async throws {
    let assertion = try await finished(try bench())
    #expect(assertion.identity == IdentityKey(providerID: "microsoft.com", subject: "\(corp).\(object)"))
    #expect(assertion.displayName == "Ann Example")
  }

  @Test(arguments: [nil, .string(""), .string(object.uppercased()), .string("x" + object), .int(1)] as [JSONValue?])
  func `a token without a well-formed object id is rejected`(oid: JSONValue?) async throws {
    #expect(try await refused(try bench(), ["oid": oid]) == .invalid(why: "SUBJECT"))
  }

  @Test func `check 42: the issuer must match the tenant in the token`() async throws {
    let bench = try bench()
    #expect(try await refused(bench, ["tid": .string(other)]) == .invalid(why: "ISSUER"))
    #expect(try await refused(bench, ["tid": nil]) == .invalid(why: "ISSUER"))
    #expect(try await refused(bench, ["iss": .string("https://sts.windows.net/\(corp)/")]) == .invalid(why: "ISSUER"))
    let issuer: JSONValue = .string("https://login.microsoftonline.com/{tenantid}/v2.0")
    let templated: [String: JSONValue?] = ["iss": issuer, "tid": nil]
    #expect(try await refused(bench, templated) == .invalid(why: "TENANT"))
    let named = templated.merging(["tid": .string("{tenantid}")]) { _, changed in changed }
    #expect(try await refused(bench, named) == .invalid(why: "TENANT"))
  }

  @Test(arguments: [
    ("common", "{tenantid}", corp, true), ("common", "{tenantid}", consumers, true),
    ("organizations", "{tenantid}", corp, true), ("organizations", "{tenantid}", consumers, false),
    ("consumers", consumers, consumers, true), ("consumers", consumers, corp, false), (corp, corp, corp, true),
    (corp, corp, other, false),
  ])
  func `each kind of tenant accepts its own users`(
    tenant: String, metadata: String, ofToken: String, isTaken: Bool
  ) async throws {
    let refusal = try await refused(try bench(tenant: tenant, metadata: metadata), tenant: ofToken)
    #expect(refusal == (isTaken ? nil : .wrongOrganisation(why: "TENANT")))
  }

  @Test func `check 63: iss is compared with the token for many tenants, and before it for one`() async throws {
    let many = try bench()
    let right = "https://login.microsoftonline.com/\(corp)/v2.0"
    let wrong = "https://login.microsoftonline.com/\(other)/v2.0"
    try many.redeems(claims(many))
    #expect(await many.refusal(Flow.callback(["iss": right])) == nil)
    #expect(await many.refusal(Flow.callback(["iss": wrong]))?.name == "flowMismatch")
    let one = try bench(tenant: corp, metadata: corp) { $0.requireResponseIssuer = true }
    try one.redeems(claims(one))
    for issuer in [nil, wrong] { #expect(await one.refusal(Flow.callback(["iss": issuer]))?.name == "flowMismatch") }
    #expect(one.tokenRequest == nil)
    #expect(await one.refusal(Flow.callback(["iss": right])) == nil)
  }

  @Test func `check 63: an announced iss is required for many tenants too`() async throws {
    let many = try bench(announcing: true)
    try many.redeems(claims(many))
    #expect(await many.refusal()?.name == "flowMismatch")
    #expect(many.tokenRequest == nil)
    let right = Flow.callback(["iss": "https://login.microsoftonline.com/\(corp)/v2.0"])
    #expect(await many.refusal(right) == nil)
  }

  @Test func `only tenants on the list are accepted`() async throws {
    let bench = try bench { $0.tenants.allowed = [corp] }
    #expect(try await refused(bench) == nil)
    #expect(try await refused(bench, tenant: other) == .wrongOrganisation(why: "TENANT"))
  }

  @Test(arguments: [
    (nil, .unverified), (.bool(false), .unverified), (.int(0), .unverified), (.string("0"), .unverified),
    (.string("false"), .unverified), (.string("yes"), .unverified), (.bool(true), .verified), (.int(1), .verified),
    (.string("1"), .verified), (.string("true"), .verified),
  ] as [(JSONValue?, TrustTier)])
  func `check 57: an address is unverified, unless its domain is verified for the tenant`(
    claim: JSONValue?, tier: TrustTier
  ) async throws {
    #expect(try await finished(try bench(), ["xms_edov": claim]).tier == tier)
  }

  @Test func `check 57: email_verified has no effect for Microsoft`() async throws {
    #expect(try await finished(try bench(), ["email_verified": .bool(true)]).tier == .unverified)
  }

  @Test func `check 57: a listed tenant is trusted, and configuration can ignore the claim`() async throws {
    let bench = try bench { $0.emailTrust = .microsoft(trustedTenants: [corp], trustsDomainOwnership: false) }
    #expect(try await finished(bench).tier == .verified)
    #expect(try await finished(bench, tenant: other, ["xms_edov": .bool(true)]).tier == .unverified)
  }

  @Test(arguments: [
    (consumers, "ann@outlook.com", .authoritative), (consumers, "ann@hotmail.com", .authoritative),
    (consumers, "ann@corp.com", .unverified), (corp, "ann@outlook.com", .unverified),
  ] as [(String, String, TrustTier)])
  func `personal accounts are authoritative for Microsoft's own mailboxes`(
    tenant: String, email: String, tier: TrustTier
  ) async throws {
    #expect(try await finished(try bench(), tenant: tenant, ["email": .string(email)]).tier == tier)
  }

  @Test func `the user principal name is never an address`() async throws {
    let assertion = try await finished(
      try bench(), ["email": nil, "preferred_username": .string("ann@corp.com"), "xms_edov": .bool(true)])
    #expect(assertion.email == nil && assertion.username == "ann@corp.com")
  }

  @Test func `check 40: a token for another application is refused`() async throws {
    #expect(try await refused(try bench(), ["aud": .string("client-2")]) == .invalid(why: "AUDIENCE"))
  }

  @Test func `check 49: a bare token for Graph is rejected, and the error names the right credential`() async throws {
    let bench = try bench()
    await #expect {
      try await bench.registry.verify(PresentedToken(accessToken: "graph"), of: "microsoft.com", at: now)
    } throws: { error in
      guard case .audienceUnverifiable(let hint) = error as? ProviderRefusal else { return false }
      return hint.contains("ID token")
    }
  }

  @Test func `check 69: invalid tenants, and tiers that Microsoft cannot have, are rejected`() throws {
    func refused(_ change: (inout ProviderSettings) -> Void) throws -> String? {
      do {
        _ = try bench(change)
        return nil
      } catch let error as ProviderSettingsError { return error.setting }
    }
    #expect(try refused { _ in } == nil)
    for tenant in ["", "contoso.com", corp.replacing("5", with: "G"), corp + "0"] {
      #expect(try refused { $0.tenants.tenant = tenant } == "tenant")
    }
    #expect(try refused { $0.tenants.allowed = ["contoso.com"] } == "allowed_tenants")
    #expect(try refused { $0.requireResponseIssuer = true } == "require_response_issuer")
    #expect(
      try refused { $0.emailTrust = .microsoft(trustedTenants: ["x"], trustsDomainOwnership: true) }
        == "email_trusted_tenants")
    #expect(try refused { $0.emailTrust = .asserted(.verified, authoritativeDomains: []) } == "email_trust")
    #expect(try refused { $0.emailTrust = .asserted(.unverified, authoritativeDomains: []) } == nil)
  }

  @Test func `an imported Firebase user id becomes the subject of a later sign-in`() throws {
    let ofOne = try bench(tenant: corp, metadata: corp)
    let ofAllowed = try bench { $0.tenants.allowed = [corp, consumers] }
    for bench in [ofOne, ofAllowed] {
      #expect(try imported(object, bench) == "\(corp).\(object)")
      #expect(try imported("\(other).\(object)", bench) == "\(other).\(object)")
    }
    for personal in ["66f33332eca7ea81", "00000000-0000-0000-66f3-3332eca7ea81"] {
      #expect(try imported(personal, try bench()) == "\(consumers).00000000-0000-0000-66f3-3332eca7ea81")
      #expect(try imported(personal, ofOne) == "\(consumers).00000000-0000-0000-66f3-3332eca7ea81")
    }
    let unset = try Registry([], fetching: ofOne.fetcher)
    #expect(try unset.subject(ofImported: "66f33332eca7ea81", at: "microsoft.com").hasPrefix(consumers))
    #expect(try unset.subject(ofImported: object, at: "google.com") == object)
  }

  @Test func `an object id without a known directory, and an invalid one, is rejected`() throws {
    for bench in [try bench(), try bench(tenant: "consumers", metadata: consumers)] {
      #expect(throws: ProviderRefusal.self) { try imported(object, bench) }
    }
    let several = try bench { $0.tenants.allowed = [corp, other] }
    let notAdmitted = try bench(tenant: corp, metadata: corp) { $0.tenants.allowed = [other] }
    for bench in [several, notAdmitted] { #expect(throws: ProviderRefusal.self) { try imported(object, bench) } }
    for text in ["", "ann@corp.com", object.uppercased(), "66F33332ECA7EA81", "66f33332eca7ea8g", "\(corp).x", "."] {
      #expect(throws: ProviderRefusal.self) { try imported(text, try bench(tenant: corp, metadata: corp)) }
    }
  }

  private func imported(_ text: String, _ bench: FlowBench) throws -> String {
    try bench.registry.subject(ofImported: text, at: "microsoft.com")
  }
}
