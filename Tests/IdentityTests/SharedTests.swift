import Store
import Testing

@testable import Identity

/// Returns the same bytes again and again.
private struct RepeatedBytes: Randomness {
  var script: [UInt8]

  func bytes(_ count: Int) -> [UInt8] { (0..<count).map { script[$0 % script.count] } }
}

@Suite struct `Ids and tokens` {
  let world = World()

  @Test func `an account id has 28 base62 characters, and a session id has 8 for the time and 22 more`() {
    let ids = world.environment.ids
    let now = Timestamp(millis: 1_800_000_000_000)
    #expect(ids.account().wholeMatch(of: /[0-9A-Za-z]{28}/) != nil)
    #expect(ids.session(at: now).wholeMatch(of: /[0-9A-Za-z]{30}/) != nil)
    #expect(Set((0..<1000).map { _ in ids.session(at: now) }).count == 1000)
  }

  @Test func `all characters of an id are equally likely`() {
    let text = (0..<2000).map { _ in world.environment.ids.account() }.joined()
    let counts = Dictionary(text.map { ($0, 1) }, uniquingKeysWith: +).values
    #expect(counts.count == 62)
    #expect(counts.allSatisfy { (720...1090).contains($0) }, "56,000 letters, 903 of each expected")
  }

  @Test func `digits have the requested number, may begin with zeros, and are equally likely`() {
    let codes = (0..<2000).map { _ in world.randomness.digits(6) }
    #expect(codes.allSatisfy { $0.wholeMatch(of: /[0-9]{6}/) != nil })
    #expect(codes.contains { $0.hasPrefix("0") })
    let counts = Dictionary(codes.joined().map { ($0, 1) }, uniquingKeysWith: +).values
    #expect(counts.count == 10)
    #expect(counts.allSatisfy { (1000...1400).contains($0) }, "12,000 digits, 1,200 of each expected")
    #expect(RepeatedBytes(script: [0, 0, 0, 0, 0, 7]).digits(6) == "000007")
    #expect(world.randomness.digits(0).isEmpty)
  }

  @Test func `bytes that would make some digits more likely are discarded and drawn again`() {
    #expect(RepeatedBytes(script: [255, 250, 249, 7]).digits(6) == "979797")
    #expect(RepeatedBytes(script: [251, 252, 253, 254, 3]).digits(6) == "333333")
  }

  @Test(arguments: [0, 61, 255, 3843, 1_800_000_000_000])
  func `ids of sessions and audits sort by time`(_ millis: Int64) {
    let ids = world.environment.ids
    let (now, next) = (Timestamp(millis: millis), Timestamp(millis: millis + 1))
    #expect(ids.audit(at: now) < ids.audit(at: next))
    #expect(ids.session(at: now) < ids.session(at: next))
  }

  @Test func `check 97: a truncated, padded, case-changed or bit-flipped refresh token is rejected`() throws {
    world.store.insert(account())
    let text = try world.session(of: "account-y").refreshToken
    #expect(RefreshToken(text, world.cryptography)?.text(world.cryptography) == text)
    let swapped = text.map { $0.isUppercase ? $0.lowercased() : $0.uppercased() }.joined()
    for changed in [
      String(text.dropLast()), text + "A", text + "=", " " + text, swapped, text.replacing(".", with: ""),
    ] {
      #expect(RefreshToken(changed, world.cryptography) == nil, "\(changed)")
    }
    for index in text.indices {
      var changed = text
      changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
      #expect(RefreshToken(changed, world.cryptography) == nil, "\(changed)")
    }
  }
}

@Suite struct `Sign-in methods` {
  private var policy: Policy {
    var policy = Policy()
    policy.enabledProviderIDs = ["google.com", "oidc.corp"]
    policy.emailLinkEnabled = true
    policy.phoneEnabled = true
    return policy
  }

  @Test func `are offered in one order: password, sign-in link, phone, providers in the order of their links`() {
    let all = account(
      .verified(ada), password: true, emailLink: true, phone: "+15550100", identities: [corp(), google()])
    let ways = SignInMethods(all, policy)
    #expect(ways.methods == ["password", "emailLink", "phone", "oidc.corp", "google.com"])
    #expect(ways.providerIDs == ["password", "phone", "oidc.corp", "google.com"])
  }

  @Test func `check 77: second factors, disabled providers and unverified addresses are not sign-in methods`() {
    let gone = assertion("oidc.gone", "1", email: ada, tier: .authoritative)
    let locked = account(.unverified(ada), emailLink: true, identities: [gone], factors: FactorKind.allCases)
    #expect(SignInMethods(locked, policy).isEmpty)
  }

  @Test func `a method that is disabled by configuration is not a sign-in method`() {
    var closed = policy
    closed.passwordEnabled = false
    closed.emailLinkEnabled = false
    closed.phoneEnabled = false
    #expect(SignInMethods(account(.verified(ada), password: true, emailLink: true, phone: number), closed).isEmpty)
  }

  /// Whether the account has a password, whether passwords are on, and its providers.
  @Test(arguments: [
    (true, true, ["password", "google.com"]), (false, true, ["emailLink", "google.com"]),
    (true, false, ["emailLink", "google.com"]),
  ])
  func `sign-in links appear as the provider emailLink if no password can sign in`(
    hasPassword: Bool, isEnabled: Bool, providerIDs: [String]
  ) {
    var policy = policy
    policy.passwordEnabled = isEnabled
    let owner = account(.verified(ada), password: hasPassword, emailLink: true, identities: [google()])
    #expect(SignInMethods(owner, policy).providerIDs == providerIDs)
    #expect(SignInMethods(mailboxUnder: policy).providerIDs == ["emailLink"])
  }
}

@Suite struct `Audit details` {
  @Test func `audit details are one JSON object, whatever the texts contain`() {
    let hostile = ["b": "\"\\\u{1}\u{1F600}", "a": "x"]
    #expect(AuditJSON.object(hostile) == "{\"a\":\"x\",\"b\":\"\\\"\\\\\\u0001\u{1F600}\"}")
  }
}
