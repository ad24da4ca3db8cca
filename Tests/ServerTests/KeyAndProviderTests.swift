import Crypto
import Fetch
import Identity
import Providers
import Store
import Synchronization
import Testing
import Tokens

@testable import Server

/// A store of signing keys and of nothing else.
private final class KeyStore: Store {
  private let keys = Mutex<[SigningKeyRecord]>([])
  /// Another server's first key, which is there by the time that ours is to be written.
  private let rival: SigningKeyRecord?

  init(_ records: [SigningKeyRecord] = [], rival: SigningKeyRecord? = nil) {
    self.rival = rival
    keys.withLock { $0 = records }
  }

  var records: [SigningKeyRecord] { keys.withLock { $0 } }

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func now(_ query: Query) throws -> Facts? { nil }
  func load(_ query: Query) async throws -> Facts {
    var facts = Facts()
    if query.signingKeys { facts.signingKeys = records }
    return facts
  }
  func commit(_ change: Change, fate: Fate) async throws -> Outcome {
    keys.withLock { keys in
      if let rival, keys.isEmpty {
        keys = [rival]
        return .conflict(.signingKey)
      }
      for case .insertSigningKey(let record) in change.writes { keys.append(record) }
      return .committed
    }
  }
  func sweep(at now: Timestamp, rowsMax: Int) async throws -> Int { 0 }
  func close() async {}
}

private func vault(_ byte: UInt8 = 1) throws -> Vault {
  try Vault(masterKey: Secret(copying: [UInt8](repeating: byte, count: 32)))
}

private func load(
  _ store: KeyStore, _ vault: Vault, _ algorithm: SignatureAlgorithm = .es256
) async throws -> KeyRing {
  try await SigningKeys.load(store, vault, algorithm: algorithm, policy: Policy())
}

@Test func `the first start makes a key, and every later one uses it`() async throws {
  let store = KeyStore()
  let first = try await load(store, vault())
  #expect(store.records.count == 1)
  let now = try #require(store.records.first).activeFrom.seconds
  let second = try await load(store, vault())
  #expect(store.records.count == 1)
  let token = try first.sign(Array("{}".utf8), .idToken, at: now)
  #expect(try second.verify(token, .idToken, at: now).members == [])
}

@Test(arguments: [SignatureAlgorithm.es256, .edDSA, .rs256])
func `a key of another algorithm is made beside the one that is there`(algorithm: SignatureAlgorithm) async throws {
  let store = KeyStore()
  _ = try await load(store, vault(), algorithm == .es256 ? .edDSA : .es256)
  let ring = try await load(store, vault(), algorithm)
  #expect(store.records.map(\.algorithm).last == algorithm.rawValue)
  #expect(store.records.count == 2)
  let published = try JWKSet.parse(Array(ring.jwks(at: try #require(store.records.last).activeFrom.seconds).utf8))
  for record in store.records {
    let algorithm = try #require(SignatureAlgorithm(rawValue: record.algorithm))
    #expect(published.key(keyID: record.keyID, algorithm: algorithm) != nil)
  }
}

@Test func `of two first starts at once both use the key that won`() async throws {
  let other = KeyStore()
  _ = try await load(other, vault())
  let rival = try #require(other.records.first)
  let store = KeyStore(rival: rival)
  let ring = try await load(store, vault())
  #expect(store.records == [rival])
  #expect(ring.jwks(at: rival.activeFrom.seconds).contains(rival.keyID))
}

@Test func `a private key rests sealed, bound to its id`() async throws {
  let store = KeyStore()
  _ = try await load(store, vault())
  let record = try #require(store.records.first)
  #expect(!String(decoding: record.sealedPrivateKey, as: UTF8.self).contains("PRIVATE"))
  var moved = record
  moved.keyID = "another"
  await #expect(throws: ConfigurationError.self) { try await load(KeyStore([moved]), vault()) }
}

@Test func `a store that was made with another master key stops the start, naming the setting`() async throws {
  let store = KeyStore()
  _ = try await load(store, vault())
  do {
    _ = try await load(store, vault(2))
    Issue.record("opened")
  } catch let error as ConfigurationError {
    #expect(error.setting == "secrets.master_key_file")
  }
}

// MARK: providers

private struct NoNetwork: HTTPSFetching {
  func get(_ url: String) async throws -> FetchedBody { throw FetchError.timedOut }
}

private func refusal(_ providerID: String, idToken: String = "", accessToken: String = "") async throws -> Failure {
  let registry = try Registry([.google(clientIDs: ["web"])], fetching: NoNetwork())
  let token = ProviderToken(providerID: providerID, idToken: idToken, accessToken: accessToken)
  do {
    _ = try await ProviderDesk(registry).verify(token, at: Timestamp(millis: 1_800_000_000_000))
    throw NotRefused()
  } catch let failure as Failure {
    return failure
  }
}

private struct NotRefused: Error {}

@Test func `a provider that is not configured is not allowed`() async throws {
  let failure = try await refusal("oidc.corp", idToken: "x")
  #expect(failure.reason == .operationNotAllowed && failure.field == "credential.provider_token")
}

@Test func `a token that is none is an invalid credential, and why is for the log only`() async throws {
  let failure = try await refusal("google.com", idToken: "not a token")
  #expect(failure.reason == .invalidCredential && !failure.debug.isEmpty)
  #expect(!failure.hint.contains(failure.debug))
}

@Test func `an access token alone does not say for whom it is`() async throws {
  #expect(try await refusal("google.com", accessToken: "x").reason == .audienceUnverifiable)
}

@Test func `keys that cannot be had make the provider unavailable, with a hint when to come back`() async throws {
  // {"alg":"RS256","kid":"k"} . {"iss":"https://accounts.google.com"} . x
  let token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwczovL2FjY291bnRzLmdvb2dsZS5jb20ifQ.eA"
  let failure = try await refusal("google.com", idToken: token)
  #expect(failure.reason == .providerUnavailable && failure.retryAfterMillis == 5_000)
}
