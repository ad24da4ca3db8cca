import Crypto
import HTTPClient
import Providers
import Store
import Testing
import Tokens

/// Key sets: reading, caching and refetching (checks 53, 54 and 68).
struct KeyTests {
  private let first = Issuer()
  private let second = Issuer(key: Keys.otherP256, keyID: "k2")

  @Test func `a token with a cached key is verified without suspending`() async throws {
    let bench = try Bench()
    let presented = PresentedToken(idToken: try first.token())
    #expect(try bench.registry.verifyNow(presented, of: "oidc.corp", at: now) == nil)
    let verified = try await bench.registry.verify(presented, of: "oidc.corp", at: now)
    #expect(try bench.registry.verifyNow(presented, of: "oidc.corp", at: now) == verified)
    #expect(bench.fetcher.asked == [first.discoveryURL, first.keysURL])
  }

  @Test func `concurrent verifications share one fetch`() async throws {
    let fetcher = ScriptedFetcher(delay: .milliseconds(50))
    fetcher.serve(first)
    let registry = try Registry([first.settings], fetching: fetcher)
    let token = PresentedToken(idToken: try first.token())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask { _ = try await registry.verify(token, of: "oidc.corp", at: now) }
      }
      try await group.waitForAll()
    }
    #expect(fetcher.asked == [first.discoveryURL, first.keysURL])
  }

  @Test func `check 53: an unknown key is fetched at most once a minute`() async throws {
    let bench = try Bench()
    try await bench.verify(try first.token())
    let unknown = try second.token()
    for (seconds, fetches) in [(1, 4), (2, 4), (30, 4), (60, 4), (61, 6), (62, 6), (120, 6)] as [(Int64, Int)] {
      #expect(await bench.refusal(of: unknown, at: later(seconds: seconds)) == .invalid(why: "UNKNOWN_KEY"))
      #expect(bench.fetcher.asked.count == fetches)
    }
  }

  @Test func `check 53: a key that the fetch for its token did not contain is not fetched again`() async throws {
    let bench = try Bench()
    #expect(await bench.refusal(of: try second.token()) == .invalid(why: "UNKNOWN_KEY"))
    #expect(bench.fetcher.asked.count == 2)
    // That was not a refetch: the key may rotate immediately afterwards.
    bench.fetcher.serve(second)
    try await bench.verify(try second.token(), at: now.adding(millis: 1))
  }

  @Test func `check 53: a new key of the provider is accepted immediately, and a withdrawn one is rejected`()
    async throws
  {
    let bench = try Bench()
    try await bench.verify(try first.token())
    bench.fetcher.serve(second)
    try await bench.verify(try second.token(), at: later(seconds: 1))
    #expect(await bench.refusal(of: try first.token(), at: later(seconds: 2)) == .invalid(why: "UNKNOWN_KEY"))
    #expect(bench.fetcher.asked.count == 4)
  }

  @Test(arguments: ["k1", nil])
  func `check 53: a new key with the id of the old one, or without one, is accepted immediately`(
    keyID: String?
  ) async throws {
    let (old, new) = (Issuer(keyID: keyID), Issuer(key: Keys.otherP256, keyID: keyID))
    let bench = try Bench(old)
    try await bench.verify(try old.token())
    bench.fetcher.serve(new)
    try await bench.verify(try new.token(), at: later(seconds: 1))
    #expect(await bench.refusal(of: try old.token(), at: later(seconds: 2)) == .invalid(why: "BAD_SIGNATURE"))
    #expect(bench.fetcher.asked.count == 4)
  }

  @Test func `check 53: bad signatures and unknown keys together cause at most one fetch a minute`() async throws {
    let bench = try Bench()
    try await bench.verify(try first.token())
    let forged = try Issuer(key: Keys.otherP256).token()
    let unknown = try second.token()
    for (seconds, fetches) in [(1, 4), (2, 4), (60, 4), (61, 6), (62, 6), (121, 8)] as [(Int64, Int)] {
      for token in seconds % 2 == 0 ? [unknown, forged] : [forged, unknown] {
        let why = token == forged ? "BAD_SIGNATURE" : "UNKNOWN_KEY"
        #expect(await bench.refusal(of: token, at: later(seconds: seconds)) == .invalid(why: why))
      }
      #expect(bench.fetcher.asked.count == fetches)
    }
  }

  @Test func `tokens with a bad signature share one refetch, which accepts those with a new key`() async throws {
    let (old, new) = (first, Issuer(key: Keys.otherP256))
    let fetcher = ScriptedFetcher(delay: .milliseconds(50))
    fetcher.serve(old)
    let bench = try Bench(old, fetcher)
    try await bench.verify(try old.token())
    fetcher.serve(new)
    let good = try new.token()
    let forged = try Issuer(key: PrivateKey.generate(.p256)).token()
    let refusals = await withTaskGroup(of: ProviderRefusal?.self) { group in
      for token in [[String]](repeating: [good, forged], count: 20).joined() {
        group.addTask { await bench.refusal(of: token, at: later(seconds: 1)) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(refusals.filter { $0 == nil }.count == 20)
    #expect(refusals.filter { $0 == .invalid(why: "BAD_SIGNATURE") }.count == 20)
    #expect(fetcher.asked.count == 4)
  }

  @Test func `check 53: made-up keys cause a few fetches and then one in ten seconds, and a new key is found`()
    async throws
  {
    let bench = try Bench()
    try await bench.verify(try first.token())
    func madeUp(_ second: Int64) async throws {
      let token = try Issuer(key: Keys.otherP256, keyID: "made-up-\(second)").token(["iat": .int(now.seconds + second)])
      #expect(await bench.refusal(of: token, at: later(seconds: second)) != nil)
    }
    for second in 10..<60 as Range<Int64> { try await madeUp(second) }
    let readings = (bench.fetcher.asked.count - 2) / 2
    #expect((4...9).contains(readings), "\(readings) readings in fifty seconds")
    // The cache finds the provider's new key within ten seconds.
    bench.fetcher.serve(second)
    let token = try second.token(["iat": .int(now.seconds + 60)])
    var isFound = false
    for second in 60...70 as ClosedRange<Int64> where !isFound {
      try await madeUp(second)
      isFound = await bench.refusal(of: token, at: later(seconds: second)) == nil
    }
    #expect(isFound)
  }

  @Test func `check 53: reloading keys does not count as a request for an unknown key`() async throws {
    let bench = try Bench()
    try await bench.verify(try first.token(["exp": .int(now.seconds + 7200)]))
    try await bench.verify(try first.token(["exp": .int(now.seconds + 7200)]), at: later(seconds: 3600))
    #expect(bench.fetcher.asked.count == 4)
    bench.fetcher.serve(second)
    try await bench.verify(try second.token(["exp": .int(now.seconds + 7200)]), at: later(seconds: 3601))
    #expect(bench.fetcher.asked.count == 6)
  }

  @Test func `check 53: keys that cannot be fetched fail closed`() async throws {
    let fetcher = ScriptedFetcher()
    fetcher.answer(first.discoveryURL, .failure(.timedOut))
    let bench = try Bench(first, fetcher)
    #expect(await bench.isUnavailable(try first.token()))
  }

  @Test(arguments: [(nil, 3600), (60, 300), (0, 300), (7200, 7200), (900_000, 86_400)] as [(Int?, Int64)])
  func `check 53: keys are used exactly during their lifetime`(
    maxAgeSeconds: Int?, lifeSeconds: Int64
  ) async throws {
    let bench = try Bench(first, ScriptedFetcher(first, maxAgeSeconds: maxAgeSeconds))
    let token = try first.token(["exp": .int(now.seconds + 100_000)])
    try await bench.verify(token)
    bench.fetcher.answer(first.discoveryURL, .failure(.unreachable("down")))
    #expect(await bench.refusal(of: token, at: now.adding(millis: lifeSeconds * 1000 - 1)) == nil)
    #expect(bench.fetcher.asked.count == 2)
    #expect(await bench.isUnavailable(token, at: later(seconds: lifeSeconds)))
  }

  @Test func `a failed refetch keeps the keys that have not expired`() async throws {
    let bench = try Bench()
    try await bench.verify(try first.token())
    bench.fetcher.answer(first.keysURL, .failure(.timedOut))
    // The key may be new, so the caller is advised to retry instead of learning that the token is invalid.
    #expect(await bench.isUnavailable(try second.token(), at: later(seconds: 60)))
    #expect(await bench.isUnavailable(try second.token(), at: later(seconds: 61)))
    #expect(await bench.refusal(of: try first.token(), at: later(seconds: 61)) == nil)
    #expect(bench.fetcher.asked.count == 4)
  }

  @Test func `after a failure the provider is asked again after five seconds`() async throws {
    let fetcher = ScriptedFetcher()
    fetcher.answer(first.discoveryURL, .failure(.timedOut))
    let bench = try Bench(first, fetcher)
    let token = try first.token()
    for millis: Int64 in [0, 1, 4999] { #expect(await bench.isUnavailable(token, at: now.adding(millis: millis))) }
    #expect(fetcher.asked.count == 1)
    fetcher.serve(first)
    #expect(await bench.refusal(of: token, at: later(seconds: 5)) == nil)
    // The failure is forgotten: a key that is unknown now is the token's fault.
    #expect(await bench.refusal(of: try second.token(), at: later(seconds: 6)) == .invalid(why: "UNKNOWN_KEY"))
  }

  @Test func `a clock that was ahead does not keep a withdrawn key or prevent a fetch`() async throws {
    let bench = try Bench()
    let ahead = now.adding(millis: 1_200_000)
    try await bench.verify(try first.token(), at: ahead)
    bench.fetcher.serve(second)
    try await bench.verify(try second.token(), at: now)
    #expect(await bench.refusal(of: try first.token(), at: now) == .invalid(why: "UNKNOWN_KEY"))
    let failing = try Bench()
    failing.fetcher.answer(first.discoveryURL, .failure(.timedOut))
    _ = await failing.refusal(of: try first.token(), at: ahead)
    failing.fetcher.serve(first)
    try await failing.verify(try first.token(), at: now)
  }

  @Test func `each provider has its own keys and limits`() async throws {
    let other = Issuer(issuer: "https://other.example.com", key: Keys.otherP256)
    var settings = other.settings
    settings.id = "oidc.other"
    let fetcher = ScriptedFetcher(first)
    fetcher.serve(other)
    let registry = try Registry([first.settings, settings], fetching: fetcher)
    let token = PresentedToken(idToken: try other.token())
    _ = try await registry.verify(token, of: "oidc.other", at: now)
    await #expect(throws: ProviderRefusal.invalid(why: "BAD_SIGNATURE")) {
      try await registry.verify(token, of: "oidc.corp", at: now)
    }
  }

  @Test(arguments: ["https://idp.example.com/", "https://IDP.example.com", "https://other.example.com", ""])
  func `a discovery document of another issuer is refused`(issuer: String) async throws {
    let fetcher = ScriptedFetcher(first)
    fetcher.answer(first.discoveryURL, .success(first.discovery(["issuer": .string(issuer)])))
    #expect(await (try Bench(first, fetcher)).isMisconfigured(try first.token()))
    #expect(fetcher.asked == [first.discoveryURL])
  }

  @Test(arguments: [.string("http://idp.example.com/keys"), .string("file:///keys"), .int(1), .null] as [JSONValue])
  func `a discovery document without an https key set is refused`(uri: JSONValue) async throws {
    let fetcher = ScriptedFetcher(first)
    fetcher.answer(first.discoveryURL, .success(first.discovery(["jwks_uri": uri])))
    #expect(await (try Bench(first, fetcher)).isMisconfigured(try first.token()))
    #expect(fetcher.asked == [first.discoveryURL])
  }

  @Test func `a fixed key set is read without discovery`() async throws {
    let bench = try Bench { $0.keys = .jwks(url: Issuer().keysURL) }
    try await bench.verify(try first.token())
    #expect(bench.fetcher.asked == [first.keysURL])
  }

  @Test(arguments: [
    #"{"kty":"RSA","kid":"k1","n":"!!!","e":"AQAB"}"#, #"{"kty":"RSA","kid":"k1","n":"Dw","e":"AQAB"}"#,
    #"{"kty":"EC","crv":"P-256","kid":"k1","x":"AAAA","y":"AAAA"}"#, "null", "1", "{}",
  ])
  func `check 54: a key set needs a usable key, and an unusable key next to it is skipped`(
    entry: String
  ) async throws {
    let fetcher = ScriptedFetcher(first)
    func serve(_ keys: String) {
      fetcher.answer(first.keysURL, .success(FetchedBody(status: 200, bytes: Array("{\"keys\":[\(keys)]}".utf8))))
    }
    serve(entry)
    #expect(await (try Bench(first, fetcher)).isMisconfigured(try first.token()))
    serve(entry + "," + String(decoding: json(first.jwk), as: UTF8.self))
    try await (try Bench(first, fetcher)).verify(try first.token())
  }

  private static let brokenKeySets: [String] = [
    #"{"keys":{}}"#, #"{}"#, "[]", "", "<html>Sign in</html>", #"{"error":"rate limited"}"#,
    "[" + String(repeating: "[", count: 100_000),
  ]

  @Test(arguments: brokenKeySets)
  func `checks 54 and 68: a broken key set is rejected, and the process keeps running`(body: String) async throws {
    let fetcher = ScriptedFetcher(first)
    fetcher.answer(first.keysURL, .success(FetchedBody(status: 200, bytes: Array(body.utf8))))
    #expect(await (try Bench(first, fetcher)).isUnavailable(try first.token()))
  }

  @Test func `check 54: each of two keys with one id verifies only its own signatures`() async throws {
    let fetcher = ScriptedFetcher(first)
    let second = Issuer(key: Keys.otherP256)
    let keys = JSONValue.array([first.jwk, second.jwk])
    fetcher.answer(
      first.keysURL, .success(FetchedBody(status: 200, bytes: json(.object([JSONMember("keys", keys)])))))
    let bench = try Bench(first, fetcher)
    for issuer in [first, second] { try await bench.verify(try issuer.token()) }
    let forged = try first.token().dropLast(4) + "AAAA"
    await #expect(throws: ProviderRefusal.invalid(why: "BAD_SIGNATURE")) { try await bench.verify(String(forged)) }
  }

  @Test(arguments: [
    .failure(.timedOut), .failure(.tooLarge), .failure(.closed),
    .success(FetchedBody(status: 500, bytes: Issuer().keySet().bytes)),
    .success(FetchedBody(status: 204, bytes: [])),
  ] as [Result<FetchedBody, FetchError>])
  func `check 68: a provider without a usable answer is unavailable`(
    answer: Result<FetchedBody, FetchError>
  ) async throws {
    let fetcher = ScriptedFetcher(first)
    fetcher.answer(first.keysURL, answer)
    #expect(await (try Bench(first, fetcher)).isUnavailable(try first.token()))
  }

  @Test(arguments: [
    .failure(.redirected), .failure(.refusedAddress), .failure(.untrusted("expired")), .failure(.refusedURL),
    .success(FetchedBody(status: 404, bytes: [])), .success(FetchedBody(status: 401, bytes: [])),
    .success(FetchedBody(status: 410, bytes: [])),
  ] as [Result<FetchedBody, FetchError>])
  func `a fault that needs a change of settings is not reported as temporary`(
    answer: Result<FetchedBody, FetchError>
  ) async throws {
    for url in [first.keysURL, first.discoveryURL] {
      let fetcher = ScriptedFetcher(first)
      fetcher.answer(url, answer)
      #expect(await (try Bench(first, fetcher)).isMisconfigured(try first.token()))
    }
  }
}
