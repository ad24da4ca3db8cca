package import Store

/// The ports and the policy, handed to every use case. Immutable; a class, because each call hands it on several times.
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

  package init(
    store: any Store, clock: any Clock, randomness: any Randomness, cryptography: any Cryptography,
    passwords: any Passwords, tokens: any Tokens, providers: any Providers, policy: Policy,
    backups: any Backups = NoBackups()
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
  }

  package var ids: Ids { Ids(randomness: randomness) }
}

/// What a decision wants done. `Answer` is what the use case goes on with once it is settled. Kept by reference, since
/// what is committed and answered is more than a task should have room for.
package indirect enum Step<Answer> {
  /// `writing` is the one thing that a refusal may leave behind: a counted attempt, or the end of a session whose
  /// refresh token was copied.
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
}

/// How a call was settled: by its own decision, or by the record that an earlier call left under the same key.
package enum Settled<Answer> {
  case decided(Answer)
  indirect case repeated(IdempotencyRecord)
}

// MARK: loading, deciding, committing

extension Environment {
  /// The first load of a use case, on the spot where the store can. Every later one is `load`.
  package func first(_ query: Query) async throws -> Facts {
    if let facts = try now(query) { return facts }
    return try await load(query)
  }

  /// Out of line: inlined, it would have its room in the memory of each call's task.
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

  /// Decides on `facts`; where the commit loses a race, loads `query` and decides again on what has become of it.
  /// - Parameter fate: of a commit that is not the one of the call, such as one that comes before it.
  package func decideAndCommit<Answer>(
    _ query: Query, _ facts: Facts, call: CallFacts, fate: Fate? = nil,
    decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    let fate = fate ?? call.fate
    if let answer = try await carryOut(try decide(facts, clock.now()), fate) { return answer }
    return try await decideAgain(query, fate, decide: decide)
  }

  @inline(never) private func decideAgain<Answer>(
    _ query: Query, _ fate: Fate, decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    for _ in 1..<policy.decisionsMax {
      let facts = try await load(query)
      if let answer = try await carryOut(try decide(facts, clock.now()), fate) { return answer }
    }
    throw lostRaces()
  }

  /// nil: a race was lost and nothing was written.
  @inline(never) private func carryOut<Answer>(_ step: Step<Answer>, _ fate: Fate) async throws -> Answer? {
    switch step {
    case .answer(let answer): return answer
    case .refuse(let failure, let change):
      // What counts an attempt is written whether or not anybody still waits: who gives up must not guess for nothing.
      if let change { _ = try await commit(change, Fate()) }
      throw failure
    case .commit(let change, let answer): return try await commit(change, fate) ? answer : nil
    }
  }

  @inline(never) private func lostRaces() -> Failure {
    Failure(
      .overloaded, hint: "Others keep changing the same account; try again.", retryAfterMillis: 100,
      debug: "lost \(policy.decisionsMax) races")
  }

  /// The same for a call that may carry an idempotency key; `query` names it.
  ///
  /// A record under the key wins over any decision, in the first round as in a later one: two equal calls at once meet
  /// at the unique key, and the loser answers with what the winner did.
  @inline(never) package func settle<Answer>(
    _ query: Query, _ facts: Facts, call: CallFacts, decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Settled<Answer> {
    try await decideAndCommit(query, facts, call: call) { facts, now in try call.step(facts, now, decide) }
  }

  /// True: durable. False: a race was lost and nothing was written.
  func commit(_ change: Change, _ fate: Fate) async throws -> Bool {
    if change.issuesTokens { try tokens.requireSigningKey(at: clock.now()) }
    let outcome: Outcome
    do {
      outcome = try await store.commit(change, fate: fate)
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
        .overloaded, hint: "Too many messages wait to be sent; try again later.", retryAfterMillis: 60_000,
        debug: "the delivery queue is full")
    case .throttled(let kind, let until): throw Failure(throttled: kind, until: until, now: clock.now())
    case .limited(let scope):
      // By then every row that is held now has expired.
      throw Failure(
        .quotaExceeded, hint: "Too many credentials are held; try again later.",
        retryAfterMillis: policy.pendingLifetimeMillis, debug: "pending rows at their limit: \(scope)")
    }
  }
}

extension Change {
  /// Tokens of a session follow the commit. A call that could not mint them must change nothing: a client would lose
  /// the session with the refresh token that it spent.
  fileprivate var issuesTokens: Bool {
    writes.contains { write in
      switch write {
      case .insertSession, .rotateSession: true
      default: false
      }
    }
  }
}

extension CallFacts {
  @inline(never)
  fileprivate func step<Answer>(
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
