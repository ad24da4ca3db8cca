import Crypto
import HTTPClient
import Identity
import LogSupport
import Logging
import Providers
import Store
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import Configuration
@testable import Observability
@testable import Server

@Test func `the first start creates a key, and every later one uses it`() async throws {
  let store = SigningKeyStore()
  let first = try await load(store, derived())
  #expect(store.records.count == 1)
  let now = try #require(store.records.first).activeFrom.seconds
  let second = try await load(store, derived())
  #expect(store.records.count == 1)
  let token = try first.unsigned(Array("{}".utf8), .idToken, at: now).signed()
  #expect(try second.verify(token, .idToken, at: now).members == [])
}

@Test(arguments: [SignatureAlgorithm.es256, .edDSA, .rs256])
func `a key of another algorithm is published next to the current one, which signs until then`(
  algorithm: SignatureAlgorithm
) async throws {
  let store = SigningKeyStore()
  _ = try await load(store, derived(), algorithm == .es256 ? .edDSA : .es256)
  let ring = try await load(store, derived(), algorithm)
  #expect(store.records.map(\.algorithm).last == algorithm.rawValue)
  #expect(store.records.count == 2)
  let (old, new) = (store.records[0], store.records[1])
  #expect(old.retiredAt == new.activeFrom)
  let published = try JWKSet.parse(Array(ring.jwks(at: new.publishedAt.seconds).utf8))
  for record in store.records {
    let algorithm = try #require(SignatureAlgorithm(rawValue: record.algorithm))
    #expect(published.candidates(keyID: record.keyID, algorithm: algorithm).first != nil)
  }
  #expect(ring.algorithms(at: new.publishedAt.seconds) == [old.algorithm, new.algorithm])
  #expect(ring.activeKey(at: new.activeFrom.seconds - 1)?.keyID == old.keyID)
  #expect(ring.activeKey(at: new.activeFrom.seconds)?.keyID == new.keyID)
}

@Test func `check 101: a requested key is published immediately, on every replica that reads it, and signs later`()
  async throws
{
  let store = SigningKeyStore()
  let replicas = [try await watch(store, derived()), try await watch(store, derived())]
  #expect(store.records.count == 1)
  await replicas[0].look(.demand)
  await replicas[0].look(.demand)
  #expect(store.records.count == 2, "one is being published")
  let successor = try #require(store.records.last)
  #expect(replicas[0].tokens.signingKeys().contains(successor.keyID))
  #expect(!replicas[1].tokens.signingKeys().contains(successor.keyID))
  await replicas[1].look(.look)
  #expect(replicas[1].tokens.signingKeys() == replicas[0].tokens.signingKeys())
  #expect(successor.activeFrom == successor.publishedAt.adding(millis: KeyPolicy().publishLeadMillis))
}

@Test func `one of many replicas with concurrent requests creates the new key`() async throws {
  let store = SigningKeyStore()
  var replicas: [SigningKeyWatch] = []
  for _ in 0..<8 { replicas.append(try await watch(store, derived())) }
  await withTaskGroup(of: Void.self) { group in
    for replica in replicas { group.addTask { await replica.look(.demand) } }
  }
  #expect(store.records.count == 2)
  #expect(store.records.filter { $0.retiredAt == nil }.count == 1)
}

@Test func `check 101: a key that no token needs any more is removed and no longer published`() async throws {
  let store = SigningKeyStore()
  var policy = KeyPolicy()
  (policy.publishLeadMillis, policy.tokenLifetimeMaxMillis, policy.skewMillis) = (50, 0, 0)
  let replica = try await watch(store, derived(), .es256, policy)
  let old = try #require(store.records.first)
  await replica.look(.demand)
  let successor = try #require(store.records.last)
  try await Task.sleep(for: .milliseconds(successor.activeFrom.millis - successor.publishedAt.millis + 10))
  await replica.look(.look)
  #expect(store.records == [successor])
  #expect(replica.tokens.signingKeys().contains(successor.keyID) && !replica.tokens.signingKeys().contains(old.keyID))
}

@Test func `a store that cannot be read does not change the keys`() async throws {
  let store = SigningKeyStore()
  let replica = try await watch(store, derived())
  let before = replica.tokens.signingKeys()
  store.isDown.store(true, ordering: .relaxed)
  await replica.look(.look)
  #expect(replica.tokens.signingKeys() == before)
}

@Test func `a start with a key from a clock that was ahead creates one that signs immediately, and warns`()
  async throws
{
  let first = SigningKeyStore()
  _ = try await load(first, derived())
  var ahead = try #require(first.records.first)
  let month: Int64 = 30 * 86_400_000
  ahead.publishedAt = ahead.publishedAt.adding(millis: month)
  ahead.activeFrom = ahead.activeFrom.adding(millis: month)
  let store = SigningKeyStore([ahead])
  let told = try await lines { log in
    let replica = try await watch(store, derived(), log: log)
    await replica.look(.look)
  }
  #expect(store.records.count == 2 && store.records.allSatisfy { $0.retiredAt == nil })
  #expect(told.count { $0["level"] == "warning" } == 1)
  let made = try #require(store.records.last)
  let ring = try SigningKeys.ring(store.records, derived(), KeyPolicy())
  #expect(ring.activeKey(at: made.activeFrom.seconds)?.keyID == made.keyID)
  #expect(ring.activeKey(at: ahead.activeFrom.seconds)?.keyID == ahead.keyID)
  #expect(ring.jwks(at: made.activeFrom.seconds).contains(ahead.keyID), "before it signs")
}

@Test func `two concurrent first starts both use the key that was stored first`() async throws {
  let other = SigningKeyStore()
  _ = try await load(other, derived())
  let rival = try #require(other.records.first)
  let store = SigningKeyStore(rival: rival)
  let ring = try await load(store, derived())
  #expect(store.records == [rival])
  #expect(ring.jwks(at: rival.activeFrom.seconds).contains(rival.keyID))
}

@Test func `a private key is stored sealed, bound to its id`() async throws {
  let store = SigningKeyStore()
  _ = try await load(store, derived())
  let record = try #require(store.records.first)
  #expect(!String(decoding: record.sealedPrivateKey, as: UTF8.self).contains("PRIVATE"))
  var moved = record
  moved.keyID = "another"
  await #expect(throws: ConfigurationError.self) { try await load(SigningKeyStore([moved]), derived()) }
}

@Test func `a store that was created with another master key stops the start, and the error names the setting`()
  async throws
{
  let store = SigningKeyStore()
  _ = try await load(store, derived())
  do {
    _ = try await load(store, derived(2))
    Issue.record("opened")
  } catch let error as ConfigurationError {
    #expect(error.setting == "secrets.master_key_files")
  }
}

@Test func `a start with another master key writes nothing, even if a new key is due`() async throws {
  let store = SigningKeyStore()
  _ = try await watch(store, derived())
  let before = store.records
  var policy = KeyPolicy()
  policy.rotateMillis = 0
  await #expect(throws: ConfigurationError.self) { _ = try await watch(store, derived(2), .edDSA, policy) }
  #expect(store.records == before)
  _ = try await watch(store, derived())
  #expect(store.records == before)
}

/// A key that `derived(1)` cannot open.
private func foreignKey() async throws -> SigningKeyRecord {
  let store = SigningKeyStore()
  _ = try await watch(store, derived(2))
  return try #require(store.records.first)
}

@Test(arguments: [false, true])
func `a key of another master key is left out, and a new key takes its place`(
  isRunning: Bool
) async throws {
  let store = SigningKeyStore()
  var replica = try await watch(store, derived())
  let ours = try #require(store.records.first)
  let foreign = try await foreignKey()
  let from = ours.activeFrom.adding(millis: 600_000)
  store.poison(foreign, at: from)
  if isRunning { await replica.look(.look) } else { replica = try await watch(store, derived()) }
  #expect(store.records.map(\.retiredAt) == [from, from, nil])
  let successor = try #require(store.records.last)
  #expect(successor.activeFrom == from)
  let published = replica.tokens.signingKeys()
  #expect(published.contains(ours.keyID) && published.contains(successor.keyID))
  #expect(!published.contains(foreign.keyID))
  let ring = try SigningKeys.ring(store.records, derived(), KeyPolicy())
  #expect(ring.activeKey(at: from.seconds - 1)?.keyID == ours.keyID)
  #expect(ring.activeKey(at: from.seconds + 1)?.keyID == successor.keyID)
  // Another look makes no further key.
  await replica.look(.look)
  #expect(store.records.count == 3)
}

@Test func `a server without an own active key does not start, and a running one keeps its keys`()
  async throws
{
  let store = SigningKeyStore()
  let replica = try await watch(store, derived())
  let published = replica.tokens.signingKeys()
  let ours = try #require(store.records.first)
  store.poison(try await foreignKey(), at: ours.activeFrom)
  let before = store.records
  await #expect(throws: ConfigurationError.self) { _ = try await watch(store, derived()) }
  await replica.look(.demand)
  #expect(store.records == before)
  #expect(replica.tokens.signingKeys() == published)
}

// MARK: Providers

private struct NoNetwork: HTTPSFetching {
  func fetch(_ request: FetchRequest) async throws -> FetchedBody { throw FetchError.timedOut }
}

/// Returns a fixed answer for each URL, ignoring the query.
private struct Answers: HTTPSFetching {
  let bodies: [String: String]

  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    guard let body = bodies[String(request.url.prefix { $0 != "?" })] else { throw FetchError.timedOut }
    return FetchedBody(status: 200, bytes: Array(body.utf8))
  }
}

private func refusal(_ providerID: String, idToken: String = "", accessToken: String = "") async throws -> Failure {
  var google = try #require(ProviderSettings.standard(id: "google.com"))
  google.clientIDs = ["web"]
  var corp = try #require(ProviderSettings.standard(id: "oidc.corp"))
  corp.clientIDs = ["web"]
  corp.issuers = ["https://corp.example"]
  corp.keys = .discovery(url: "https://corp.example/.well-known/openid-configuration")
  let registry = try Registry([google, corp], fetching: NoNetwork())
  let token = ProviderToken(providerID: providerID, idToken: idToken, accessToken: accessToken)
  do {
    _ = try await ProviderGateway(registry).verify(token, at: Timestamp(millis: 1_800_000_000_000))
    throw NotRefused()
  } catch let failure as Failure {
    return failure
  }
}

private struct NotRefused: Error {}

@Test func `a provider that is not configured is not allowed`() async throws {
  let failure = try await refusal("oidc.other", idToken: "x")
  #expect(failure.reason == .operationNotAllowed && failure.field == "credential.provider_token")
}

@Test func `an invalid token is an invalid credential, and the reason is for the log only`() async throws {
  let failure = try await refusal("google.com", idToken: "not a token")
  #expect(failure.reason == .invalidCredential && !failure.debug.isEmpty)
  #expect(!failure.hint.contains(failure.debug))
}

@Test func `a user of another organisation than the required one gets that error`() async throws {
  var google = try #require(ProviderSettings.standard(id: "google.com"))
  google.clientIDs = ["web"]
  google.hostedDomains = ["corp.example"]
  let answers = Answers(bodies: [
    "https://oauth2.googleapis.com/tokeninfo": #"{"aud":"web","sub":"1","exp":"1900000000"}"#,
    "https://openidconnect.googleapis.com/v1/userinfo": #"{"sub":"1","hd":"other.example"}"#,
  ])
  let tokens = ProviderGateway(try Registry([google], fetching: answers))
  do {
    _ = try await tokens.verify(
      ProviderToken(providerID: "google.com", accessToken: "ya29"), at: Timestamp(millis: 1_800_000_000_000))
    Issue.record("signed in")
  } catch let failure as Failure {
    #expect(failure.reason == .invalidCredential && failure.field == "credential.provider_token")
    #expect(failure.hint == "Use an account of an allowed organisation." && failure.debug == "HOSTED_DOMAIN")
  }
}

@Test func `an access token alone does not prove its audience`() async throws {
  #expect(try await refusal("oidc.corp", accessToken: "x").reason == .audienceUnverifiable)
}

@Test func `a provider that cannot be asked about an access token is unavailable`() async throws {
  #expect(try await refusal("google.com", accessToken: "x").reason == .providerUnavailable)
}

@Test func `keys that cannot be fetched make the provider unavailable, with a retry delay`() async throws {
  // {"alg":"RS256","kid":"k"} . {"iss":"https://accounts.google.com"} . x
  let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwczovL2FjY291bnRzLmdvb2dsZS5jb20ifQ.eA"
  let failure = try await refusal("google.com", idToken: token)
  #expect(failure.reason == .providerUnavailable && failure.retryAfterMillis == 5_000)
}

@Test func `a time that does not fit into milliseconds is ignored`() {
  var own = ProvidersOwnTokens()
  #expect(own.expiresInMillis == nil)
  for (seconds, millis) in [(3600, 3_600_000), (Int64.max / 1_000 + 1, nil), (Int64.max, nil)] as [(Int64, Int64?)] {
    own.expiresInSeconds = seconds
    #expect(own.expiresInMillis == millis)
  }
}
