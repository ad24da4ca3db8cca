package import Store

/// The ports and the policy that every use case receives. Immutable.
///
/// A class, because each call passes it on several times.
package final class Environment: Sendable {
  package let store: any Store
  package let clock: any Clock
  package let randomness: any Randomness
  package let cryptography: any Cryptography
  package let passwords: any Passwords
  package let tokens: any Tokens
  package let providers: any Providers
  package let policy: Policy
  package let backups: any Backups
  package let passkeys: any Passkeys
  /// The operator's own rules; nil: there are none.
  package let hooks: (any Hooks)?

  package init(
    store: any Store, clock: any Clock, randomness: any Randomness, cryptography: any Cryptography,
    passwords: any Passwords, tokens: any Tokens, providers: any Providers, policy: Policy,
    backups: any Backups = NoBackups(), passkeys: any Passkeys = NoPasskeys(), hooks: (any Hooks)? = nil
  ) {
    self.store = store
    self.clock = clock
    self.randomness = randomness
    self.cryptography = cryptography
    self.passwords = passwords
    self.tokens = tokens
    self.providers = providers
    self.policy = policy
    self.backups = backups
    self.passkeys = passkeys
    self.hooks = hooks
  }

  package var ids: Ids { Ids(randomness: randomness) }
}

/// Result of a decision: what to write and what to answer.
///
/// `Answer` is what the use case continues with once the step is carried out. The enum is indirect, because a change
/// and an answer would take too much memory in the call's task.
package indirect enum Step<Answer> {
  /// `writing` is the only change that a rejected call leaves. It counts an attempt, or ends a session whose refresh
  /// token was copied.
  case refuse(Failure, writing: Change? = nil)
  case answer(Answer)
  case commit(Change, Answer)

  package func map<Other>(_ transform: (Answer) throws -> Other) rethrows -> Step<Other> {
    switch self {
    case .refuse(let failure, let change): .refuse(failure, writing: change)
    case .answer(let answer): .answer(try transform(answer))
    case .commit(let change, let answer): .commit(change, try transform(answer))
    }
  }

  /// Adds writes to those of a commit.
  func adding(_ writes: [Write]) -> Step {
    guard case .commit(let change, let answer) = self else { return self }
    return .commit(Change(change.writes + writes), answer)
  }
}

/// How a call was settled: by its own decision, or by the record of an earlier call with the same idempotency key.
package enum Settled<Answer> {
  case decided(Answer)
  indirect case repeated(IdempotencyRecord)
}

// MARK: loading, deciding, committing

extension Environment {
  /// Loads the first records of a use case, without waiting if the store can. Later loads use `load`.
  package func first(_ query: Query) async throws -> Facts {
    if let facts = try now(query) { return facts }
    return try await load(query)
  }

  /// Reads without waiting. Not inlined, because it would then take memory in each call's task.
  @inline(never) private func now(_ query: Query) throws -> Facts? {
    do {
      return try store.now(query)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }

  package func load(_ query: Query) async throws -> Facts {
    do {
      return try await store.load(query)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }

  /// Decides on `facts` and commits. After a lost race, loads `query` again and decides on the newer records.
  /// - Parameter commitDecision: for a commit that is not the call's own, such as one before it.
  package func decideAndCommit<Answer>(
    _ query: Query, _ facts: Facts, call: CallFacts, commitDecision: CommitDecision? = nil,
    decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    let commitDecision = commitDecision ?? call.commitDecision
    if let answer = try await carryOut(try decided(facts, decide), commitDecision) { return answer }
    return try await decideAgain(query, commitDecision, decide: decide)
  }

  @inline(never) private func decideAgain<Answer>(
    _ query: Query, _ commitDecision: CommitDecision, decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    for _ in 1..<policy.decisionsMax {
      let facts = try await load(query)
      if let answer = try await carryOut(try decided(facts, decide), commitDecision) { return answer }
    }
    throw lostRaces()
  }

  /// Decides. A failure also states the account that it concerns.
  func decided<Answer>(
    _ facts: Facts, _ decide: (Facts, Timestamp) throws -> Step<Answer>
  ) throws -> Step<Answer> {
    do {
      let step = try decide(facts, clock.now())
      guard case .refuse(let failure, let change) = step else { return step }
      return .refuse(failure.concerning(facts), writing: change)
    } catch let failure as Failure {
      throw failure.concerning(facts)
    }
  }

  /// Carries out a step. Returns nil if a race was lost. Nothing was written then.
  @inline(never) func carryOut<Answer>(_ step: Step<Answer>, _ commitDecision: CommitDecision) async throws
    -> Answer?
  {
    switch step {
    case .answer(let answer): return answer
    case .refuse(let failure, let change):
      // Count the attempt even if the client is gone. Otherwise an attacker could cancel each call and guess without
      // limit.
      if let change { _ = try await commit(change, CommitDecision()) }
      throw failure
    case .commit(let change, let answer): return try await commit(change, commitDecision) ? answer : nil
    }
  }

  @inline(never) func lostRaces() -> Failure {
    Failure(
      .overloaded, hint: "Concurrent calls keep changing this account. Try again.", retryAfterMillis: 100,
      debug: "lost \(policy.decisionsMax) races")
  }

  /// Decides and commits like `decideAndCommit`, for a call that may carry an idempotency key. `query` names the key.
  ///
  /// A record under the key takes precedence over any decision, in every round. Two equal concurrent calls meet at the
  /// unique key, and the loser answers with the result of the winner.
  @inline(never) package func settle<Answer>(
    _ query: Query, _ facts: Facts, call: CallFacts, decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Settled<Answer> {
    try await decideAndCommit(query, facts, call: call) { facts, now in try call.step(facts, now, decide) }
  }

  /// Commits a change. Returns true if it is durable, or false if a race was lost and nothing was written.
  func commit(_ change: Change, _ commitDecision: CommitDecision) async throws -> Bool {
    if change.issuesTokens { try tokens.requireSigningKey(at: clock.now()) }
    let outcome: Outcome
    do {
      outcome = try await store.commit(change, commitDecision: commitDecision)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
    return try isCommitted(outcome)
  }

  @inline(never) private func isCommitted(_ outcome: Outcome) throws -> Bool {
    switch outcome {
    case .committed: return true
    case .conflict, .stale: return false
    case .cancelled: throw Failure(.cancelled)
    case .limited(.deliveries):
      throw Failure(
        .overloaded, hint: "The message queue is full. Try again later.", retryAfterMillis: 60_000,
        debug: "the delivery queue is full")
    case .throttled(let kind, let until): throw Failure(throttled: kind, until: until, now: clock.now())
    case .limited(let scope):
      // All current pending rows have expired by then.
      throw Failure(
        .quotaExceeded, hint: "Too many credentials are pending. Try again later.",
        retryAfterMillis: policy.pendingLifetimeMillis, debug: "pending rows at their limit: \(scope)")
    }
  }
}

extension Change {
  /// Whether the change needs tokens, which the server mints after the commit.
  ///
  /// A call that cannot mint them must change nothing. Otherwise the client loses its session with the refresh token
  /// that it spent.
  fileprivate var issuesTokens: Bool {
    writes.contains { write in
      switch write {
      case .session(.insert), .session(.rotate): true
      case .session(.rename), .session(.close), .session(.closeAll), .session(.closeBegun), .session(.requireOpen):
        false
      case .account, .identity, .unlink, .factor, .pending, .delivery, .throttle, .signingKey, .record, .failure: false
      }
    }
  }
}

extension CallFacts {
  @inline(never)
  func step<Answer>(
    _ facts: Facts, _ now: Timestamp, _ decide: (Facts, Timestamp) throws -> Step<Answer>
  ) throws -> Step<Settled<Answer>> {
    if let record = try recorded(in: facts, at: now) { return .answer(.repeated(record)) }
    return try decide(facts, now).map { .decided($0) }
  }
}

extension Failure {
  package init(storeError: StoreError) {
    self.init(
      .storeUnavailable, hint: "Try again.", retryAfterMillis: 1000, debug: "store: \(storeError)")
  }
}
