internal import Configuration
internal import Crypto
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// Synchronisation of this replica's key ring with the store, and rotation of keys.
///
/// Calls never wait for it: they use the current ring.
final class SigningKeyWatch: Sendable {
  private static let pauseMillis: Int64 = 1_000

  private let table: KeyTable
  private let known: Mutex<KeyReading>
  /// Whether other servers use the same store.
  private let isShared: Bool
  let tokens: TokenIssuer

  /// Loads the keys. Throws if there is no key that the master key can open.
  init(
    _ store: any Store, _ keys: DerivedKeys, algorithm: SignatureAlgorithm, _ policy: KeyPolicy, issuer: String,
    signers: [CustomTokenSigner] = [], events: SigningKeyEvents, isShared: Bool, log: Log
  ) async throws {
    table = KeyTable(store, keys, algorithm: algorithm, policy, events, log: log)
    self.isShared = isShared
    let reading = try await table.settle(.start).reading
    known = Mutex(reading)
    tokens = TokenIssuer(
      ring: try SigningKeys.ring(reading.records, keys, policy, log), issuer: issuer, signers: signers)
  }

  /// Starts periodic checks; cancel the task to end them.
  ///
  /// A token of an unknown key may be one of a successor that another server made for a revoked key. Then the next
  /// check is early. Any client can present such tokens, so there is at most one check in `pauseMillis`.
  func start() -> Task<Void, Never> {
    let readMillis = table.policy.readMillis
    let pauseMillis = min(SigningKeyWatch.pauseMillis, readMillis)
    return Task.detached { [self] in
      var waitedMillis: Int64 = 0
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(pauseMillis) * 1_000_000) } catch { return }
        waitedMillis += pauseMillis
        guard waitedMillis >= readMillis || (isShared && tokens.takeUnknownKey()) else { continue }
        waitedMillis = 0
        await look(.look)
      }
    }
  }

  /// Reads the keys and rotates them if due. If the store is unavailable, the ring stays unchanged until the next
  /// check.
  func look(_ occasion: KeyRotation.Occasion) async {
    do {
      try use(try await table.settle(occasion).reading)
    } catch StoreError.closed {
      // The server is stopping.
    } catch {
      table.log.error("the signing keys cannot be read", ["why": "\(error)"])
    }
  }

  /// Returns since when the key that signs now does so; nil if none does.
  func signsSince(_ now: Timestamp) -> Timestamp? {
    known.withLock { $0.records.filter { $0.isActive(at: now) }.map(\.activeFrom).max() }
  }

  /// Replaces the ring, unless a later reading has. A reading from before a revocation must not bring the key back.
  private func use(_ reading: KeyReading) throws {
    try known.withLock { known in
      guard reading.number > known.number else { return }
      if reading.records != known.records {
        tokens.use(try SigningKeys.ring(reading.records, table.keys, table.policy, table.log))
      }
      known = reading
    }
  }
}

// MARK: Administration

extension SigningKeyWatch: SigningKeyAdministration {
  func list() async throws -> [SigningKeyStatus] {
    try await failing { statuses(try await readAgain()) }
  }

  func rotate(_ call: CallFacts) async throws -> RotatedSigningKeys {
    try await failing {
      let (reading, published) = try await table.settle(.demand, call: call)
      try use(reading)
      return RotatedSigningKeys(keys: statuses(reading.records), newKeyID: published)
    }
  }

  func revoke(keyID: String, _ call: CallFacts) async throws -> RevokedSigningKey {
    try await failing {
      let successor = try await table.revoke(keyID, call)
      let records = try await readAgain()
      let now = Timestamp(millis: wallMillis())
      let serversAt = isShared ? now.adding(millis: table.policy.readMillis) : now
      return RevokedSigningKey(
        keys: statuses(records), successorKeyID: successor, serversRejectAt: serversAt,
        verifiersRejectAt: serversAt.adding(millis: table.policy.cacheMillis))
    }
  }

  /// Reads the keys, and uses them from now on.
  private func readAgain() async throws -> [SigningKeyRecord] {
    let reading = try await table.read()
    try use(reading)
    return reading.records
  }

  private func statuses(_ records: [SigningKeyRecord]) -> [SigningKeyStatus] {
    SigningKeys.statuses(
      records, foreign: Set(SigningKeys.unusable(records, table.keys).keys), now: Timestamp(millis: wallMillis()))
  }

  /// Converts errors of the store.
  private func failing<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as StoreError {
      throw Failure(storeError: error)
    } catch let error as ConfigurationError {
      throw Failure(.signingKeyUnavailable, hint: "Check the master key of this server.", debug: "\(error)")
    }
  }
}
