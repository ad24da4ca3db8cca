internal import Configuration
internal import Crypto
internal import Identity
internal import Import
internal import Reactor
internal import Store
internal import Synchronization
internal import Text

/// Password hashing on a bounded pool of worker threads.
final class PasswordHashing: Passwords {
  private let hasher: PasswordHasher
  private let workers: Workers
  private let slowWorkersMax: Int
  /// Started with the first slow hash, because most services never have one.
  private let slowWorkers = Mutex<Workers?>(nil)
  private let common = CommonPasswords()
  private let importKeys: ImportKeys?
  private let refused: @Sendable () -> Void
  private let pace = Mutex(PasswordPace())
  private let blocking = Mutex(Blocking())

  /// The operator's list, and whether sign-ins are compared with it. A reload replaces both.
  struct Blocking: Sendable {
    var list: PasswordBlockList?
    var atSignIn = false
  }

  /// - Parameter importKeys: keys of imported hashes; `nil` if no imported hash uses one.
  /// - Parameter slowWorkersMax: number of imported hashes that are slow and compared at the same time.
  /// - Parameter refused: called for work that found the queue full.
  init(
    hasher: PasswordHasher, workers: Workers, slowWorkersMax: Int = 1, importKeys: ImportKeys? = nil,
    refused: @escaping @Sendable () -> Void = {}
  ) {
    self.hasher = hasher
    self.importKeys = importKeys
    self.workers = workers
    self.slowWorkersMax = slowWorkersMax
    self.refused = refused
    // The pace must be known before the first request. A comparison takes as long as a hash.
    pace.withLock { _ = $0.note(hasher.dummyTook, .today) }
  }

  /// Verifies a password.
  ///
  /// Delays a rejection to the duration of the slowest kind of hash in use. The duration must not reveal whether the
  /// account exists, nor whether its hash has older parameters or comes from another service.
  ///
  /// This service hashes and compares the normalised password. Other services hashed the password as typed, so their
  /// hashes are compared with both forms. A password that is not typed in its normal form therefore takes twice the
  /// time there, and its rejections take that time everywhere.
  func verify(_ password: String, hash: String?, commitDecision: CommitDecision) async throws -> PasswordCheck {
    let typed = Array(password.utf8)
    let bytes = Array(normalisePassword(password).utf8)
    let foreign = hash.flatMap { ForeignHash($0) }
    let key = if let id = foreign?.keyID { try await importKeys?.key(id) } else { nil as Secret? }
    let outcome = try await work(commitDecision, on: foreign?.isSlow == true ? slow() : workers) {
      [self] () throws(CryptoError) -> (check: PasswordCheck, hold: Duration) in
      let begun = ContinuousClock.now
      let matches = try compare(typed, bytes, hash, foreign, key: key)
      let took = begun.duration(to: .now)
      let isOlder = hash.map(hasher.needsUpgrade) ?? false
      let own = isOlder ? PasswordPace.Kind.older : .today
      let kind = foreign.map { .foreign($0.pace) } ?? own
      let hold = pace.withLock { $0.note(took, kind, spellings: typed == bytes ? 1 : 2) }
      guard matches, hash != nil else { return (PasswordCheck(matches: false), hold) }
      let isBlocked = isBlockedAtSignIn(bytes)
      return (
        PasswordCheck(matches: true, upgradedHash: isOlder ? try? hasher.hash(bytes) : nil, isBlocked: isBlocked), .zero
      )
    }
    if outcome.hold > .zero { try? await Task.sleep(for: outcome.hold) }
    return outcome.check
  }

  /// Compares a password with a hash. For an imported hash it always compares both spellings.
  private func compare(
    _ typed: [UInt8], _ normal: [UInt8], _ hash: String?, _ foreign: ForeignHash?, key: Secret?
  ) throws(CryptoError) -> Bool {
    guard let foreign else { return try hasher.verify(normal, against: hash ?? hasher.dummy) }
    let matches = try foreign.matches(typed, key: key)
    if typed == normal { return matches }
    let matchesNormal = try foreign.matches(normal, key: key)
    return matchesNormal || matches
  }

  func canVerify(hash: String) async throws -> Bool {
    guard let id = ForeignHash(hash)?.keyID else { return true }
    return try await importKeys?.key(id) != nil
  }

  func hash(_ password: String, commitDecision: CommitDecision) async throws -> String {
    let bytes = Array(password.utf8)
    return try await work(commitDecision, on: workers) { [hasher] () throws(CryptoError) -> String in
      try hasher.hash(bytes)
    }
  }

  /// Number of hashes that wait for a worker.
  var queued: Int { workers.queued }

  func isCommon(_ password: String) -> Bool { common.contains(password) }

  func use(_ blocking: Blocking) { self.blocking.withLock { $0 = blocking } }

  /// Searches on a worker, because the list may be on a disk. An unreadable list lets no new password pass.
  func isBlocked(_ password: String, commitDecision: CommitDecision) async throws -> Bool {
    guard let list = blocking.withLock(\.list) else { return false }
    let found = try await work(commitDecision, on: workers) {
      () throws(CryptoError) -> Bool? in try? list.contains(password)
    }
    guard let found else {
      throw Failure(.overloaded, retryAfterMillis: 1_000, debug: "\(list.path) cannot be read")
    }
    return found
  }

  private func isBlockedAtSignIn(_ password: [UInt8]) -> Bool {
    let blocking = blocking.withLock { $0 }
    guard blocking.atSignIn, let list = blocking.list else { return false }
    return (try? list.contains(String(decoding: password, as: UTF8.self))) ?? false
  }

  func requireRoom() throws(Failure) {
    if workers.isFull { throw full() }
  }

  private func full() -> Failure {
    refused()
    return Failure(.overloaded, hint: "Retry later: too many password checks are in progress.", retryAfterMillis: 1_000)
  }

  /// The threads of hashes that take seconds. Their queue is short, because a call does not wait longer than a minute.
  private func slow() -> Workers {
    slowWorkers.withLock { started in
      if let started { return started }
      let workers = Workers(
        name: "slow-hash", count: slowWorkersMax, queueMax: PasswordHashing.slowQueueMax * slowWorkersMax,
        niceness: 15)
      started = workers
      return workers
    }
  }

  /// Slow hashes that wait, for each thread that compares them.
  static let slowQueueMax = 8

  /// Runs `body` on a worker, unless the call was cancelled while it waited.
  private func work<Value: Sendable>(
    _ commitDecision: CommitDecision, on workers: Workers,
    _ body: @escaping @Sendable () throws(CryptoError) -> Value
  ) async throws -> Value {
    do {
      let done = try await workers.run { () -> Result<Value, CryptoError>? in
        commitDecision.isCancelled ? nil : Result { () throws(CryptoError) in try body() }
      }
      guard let done else { throw Failure(.cancelled) }
      return try done.get()
    } catch is Workers.Full {
      throw full()
    } catch CryptoError.outOfMemory {
      throw Failure(.overloaded, retryAfterMillis: 1_000, debug: "out of memory")
    }
  }
}
