internal import Crypto
internal import Identity
internal import Import
internal import Reactor
internal import Store
internal import Synchronization
internal import Text

/// Password hashing on bounded workers behind the reactors.
final class PasswordDesk: Passwords {
  private let hasher: PasswordHasher
  private let workers: Workers
  private let common: CommonPasswords
  private let importKeys: ImportKeys?
  private let refused: @Sendable () -> Void
  private let pace = Mutex(PasswordPace())

  /// - Parameter importKeys: nil: no hash was imported that takes a key.
  /// - Parameter refused: told of work that found the queue full.
  init(
    hasher: PasswordHasher, workers: Workers, importKeys: ImportKeys? = nil,
    refused: @escaping @Sendable () -> Void = {}
  ) {
    self.hasher = hasher
    self.importKeys = importKeys
    self.workers = workers
    self.refused = refused
    common = CommonPasswords()
    // The pace must be known before the first stranger asks.
    let begun = ContinuousClock.now
    _ = try? hasher.verify([], against: hasher.dummy)
    let took = begun.duration(to: .now)
    pace.withLock { _ = $0.note(took, .today) }
  }

  /// A refusal is held to the time of the slowest kind of hash that is in use: how long it takes must not tell that
  /// there is an account, nor that its hash is of older parameters than today's, or another service's.
  ///
  /// A password is compared in its normal form, which is what is hashed here. Other services hashed it as it was typed,
  /// so that theirs is compared with both: a password that is not typed in its normal form takes twice the time there,
  /// and is held to that wherever it is refused.
  func verify(_ password: String, hash: String?, fate: Fate) async throws -> PasswordCheck {
    let typed = Array(password.utf8)
    let bytes = Array(normalisePassword(password).utf8)
    let foreign = hash.flatMap { ForeignHash($0) }
    let key = if let id = foreign?.keyID { try await importKeys?.key(id) } else { nil as Secret? }
    let outcome = try await work(fate) { [self] () throws(CryptoError) -> (check: PasswordCheck, hold: Duration) in
      let begun = ContinuousClock.now
      let matches = try compare(typed, bytes, hash, foreign, key: key)
      let took = begun.duration(to: .now)
      let isOlder = hash.map(hasher.needsUpgrade) ?? false
      let own = isOlder ? PasswordPace.Kind.older : .today
      let kind = foreign.map { .foreign($0.pace) } ?? own
      let hold = pace.withLock { $0.note(took, kind, spellings: typed == bytes ? 1 : 2) }
      guard matches, hash != nil else { return (PasswordCheck(matches: false), hold) }
      return (PasswordCheck(matches: true, upgradedHash: isOlder ? try? hasher.hash(bytes) : nil), .zero)
    }
    if outcome.hold > .zero { try? await Task.sleep(for: outcome.hold) }
    return outcome.check
  }

  /// Of another service's hash it compares with both spellings, whatever the first comes to.
  private func compare(
    _ typed: [UInt8], _ normal: [UInt8], _ hash: String?, _ foreign: ForeignHash?, key: Secret?
  ) throws(CryptoError) -> Bool {
    guard let foreign else { return try hasher.verify(normal, against: hash ?? hasher.dummy) }
    let matches = try foreign.matches(typed, key: key)
    if typed == normal { return matches }
    let matchesNormal = try foreign.matches(normal, key: key)
    return matchesNormal || matches
  }

  func hash(_ password: String, fate: Fate) async throws -> String {
    let bytes = Array(password.utf8)
    return try await work(fate) { [hasher] () throws(CryptoError) -> String in
      try hasher.hash(bytes)
    }
  }

  /// Hashes that wait for a worker.
  var queued: Int { workers.queued }

  func isCommon(_ password: String) -> Bool { common.contains(password) }

  func requireRoom() throws(Failure) {
    if workers.isFull { throw full() }
  }

  private func full() -> Failure {
    refused()
    return Failure(.overloaded, hint: "Too many password checks at once; try again.", retryAfterMillis: 1_000)
  }

  /// A call that was given up while it waited costs nothing.
  private func work<Value: Sendable>(
    _ fate: Fate, _ body: @escaping @Sendable () throws(CryptoError) -> Value
  ) async throws -> Value {
    do {
      let done = try await workers.run { () -> Result<Value, CryptoError>? in
        fate.isCancelled ? nil : Result { () throws(CryptoError) in try body() }
      }
      guard let done else { throw Failure(.cancelled) }
      return try done.get()
    } catch is Workers.Full {
      throw full()
    } catch CryptoError.outOfMemory {
      throw Failure(.overloaded, retryAfterMillis: 1_000, debug: "no memory")
    }
  }
}
