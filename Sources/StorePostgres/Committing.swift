import Reactor
package import Store

// The commit of a change: it is sent, retried if the server aborts it in favor of another transaction, and resolved if
// its connection was lost.

/// The result of one attempt.
enum Attempt: Sendable {
  case ended(Outcome)
  /// Nothing was written. Another attempt may succeed.
  case again(StoreError)
  /// Nothing was written. The change must lock and read all of its throttles first.
  case lockingThrottles
  /// Nothing was written.
  case failed(StoreError)
  /// The connection was lost. The change may have been committed, or may still be within this time.
  case unknown(StoreError, withinMillis: Int64)
}

extension PostgresStore {
  package func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    let result = await carryOut(change, commitDecision)
    observer?.settled(result)
    return try result.get()
  }

  /// Commits a change, with retries.
  ///
  /// Takes the commit decision immediately before each attempt, and releases it after an attempt that wrote nothing. If
  /// the outcome of a change cannot be determined, its decision stays taken, so no caller receives `.cancelled`.
  private func carryOut(_ change: Change, _ commitDecision: CommitDecision) async -> Result<Outcome, StoreError> {
    let begun = monotonicMillis()
    var attempts = 0
    var locksThrottles = false
    while true {
      attempts += 1
      let id = ChangeID.random()
      var error: StoreError
      switch await attempt(change, id, commitDecision, locksThrottles: locksThrottles) {
      case .ended(let outcome):
        if outcome != .committed { commitDecision.release() }
        return .success(outcome)
      case .failed(let failure):
        commitDecision.release()
        return .failure(failure)
      case .again(let failure): error = failure
      case .lockingThrottles:
        commitDecision.release()
        locksThrottles = true
        continue
      case .unknown(let failure, let withinMillis):
        observer?.lostCommit()
        guard let isCommitted = await settle(id, withinMillis: withinMillis) else { return .failure(failure) }
        if isCommitted { return .success(.committed) }
        error = failure
      }
      commitDecision.release()
      guard attempts <= options.retriesMax, monotonicMillis() - begun < options.retryMillis else {
        return .failure(error)
      }
      await pause(attempts)
    }
  }

  /// Pauses for a random time that grows with each attempt, so that conflicting changes do not conflict again.
  private func pause(_ attempts: Int) async {
    let most = min(UInt64(200), 2 << UInt64(min(attempts, 8)))
    try? await Task.sleep(nanoseconds: UInt64.random(in: 0...most * 1_000_000))
  }

  func attempt(
    _ change: Change, _ id: ChangeID, _ commitDecision: CommitDecision, locksThrottles: Bool = true
  ) async -> Attempt {
    await withCheckedContinuation { continuation in
      let attempt = ChangeAttempt(change, id, locksThrottles, options.statementMillis, observer) {
        continuation.resume(returning: $0)
      }
      put(
        StoreRequest(
          kind: .writing, sinceMillis: monotonicMillis(),
          begin: {
            guard commitDecision.take() else {
              continuation.resume(returning: .ended(.cancelled))
              return nil
            }
            return attempt.begin()
          }, refuse: { continuation.resume(returning: commitDecision.isCancelled ? .ended(.cancelled) : .failed($0)) }))
    }
  }

  // MARK: Fencing

  /// Determines whether a change with a lost connection was committed. False: it never will be. nil: unknown within the
  /// time limit.
  ///
  /// Each change inserts its id first. Here another connection inserts the same id. If that succeeds, the change was
  /// not committed and never can be: its own insert would conflict, even if the server receives it later. If the id
  /// exists, the change was committed. The server waits for a transaction that is still in progress. The row states who
  /// wrote it, so that a fence whose own response was lost is not taken for the change.
  ///
  /// An existing row is written again unchanged, because a COMMIT that has written nothing waits for no standby. The
  /// change would then count as committed before the required standby has it.
  ///
  /// - Parameter withinMillis: how long the server may still be executing the change.
  func settle(_ id: ChangeID, withinMillis: Int64 = 0) async -> Bool? {
    let begun = monotonicMillis()
    let patienceMillis = max(options.settleMillis, withinMillis + options.slackMillis)
    repeat {
      let steps: @Sendable () -> [BoundStatement] = {
        [
          BoundStatement(.insertFence).bind(id.bytes).bind(wallMillis()),
          BoundStatement(.withoutTimeLimit),
        ]
      }
      let isFence = await ask(.writing, begin: .beginWriting, steps) { answers throws(RequestError) in
        guard answers[0].step() else { throw .corrupt("a fence row is missing") }
        return try answers[0].bool()
      }
      if case .success(let isFence) = isFence { return !isFence }
      if isClosed { return nil }
      try? await Task.sleep(nanoseconds: UInt64.random(in: 50...250) * 1_000_000)
    } while monotonicMillis() - begun < patienceMillis
    return nil
  }
}

/// One attempt at one change, on the thread of the pool that sends it.
private struct ChangeAttempt: Sendable {
  private let change: Change
  private let id: ChangeID
  private let locksThrottles: Bool
  private let statementMillis: Int64
  private let observer: (any StoreObserver)?
  private let end: @Sendable (Attempt) -> Void

  init(
    _ change: Change, _ id: ChangeID, _ locksThrottles: Bool, _ statementMillis: Int64,
    _ observer: (any StoreObserver)?,
    end: @escaping @Sendable (Attempt) -> Void
  ) {
    self.change = change
    self.id = id
    self.locksThrottles = locksThrottles
    self.statementMillis = statementMillis
    self.observer = observer
    self.end = end
  }

  /// Returns the first round trip. Throttles need a second one: the first locks and reads them.
  func begin() -> RoundTrip {
    let throttles = ThrottleRows(change, locksAll: locksThrottles)
    let begun = ContinuousClock.now
    guard !throttles.isEmpty else { return writing(throttles, begins: true, begun) }
    let locks = [BoundStatement(.beginWriting)] + throttles.locks
    return RoundTrip(steps: locks, begins: true, ends: false) { ending in
      do throws(RequestError) {
        try throttles.read(try ending.get().dropFirst())
        return writing(throttles, begins: false, begun)
      } catch {
        // Without its COMMIT the change was not committed, even if the connection was lost.
        end(judge(error, committedWithinMillis: nil))
        return nil
      }
    }
  }

  private func writing(_ throttles: ThrottleRows, begins: Bool, _ begun: ContinuousClock.Instant) -> RoundTrip {
    let script = Script(change, id: id, throttles: throttles, statementMillis: statementMillis)
    let steps = (begins ? [BoundStatement(.beginWriting)] : []) + script.steps + [BoundStatement(.commit)]
    return RoundTrip(steps: steps, begins: begins, ends: true) { ending in
      switch ending {
      case .success(let answers) where answers.last?.isCommit != true:
        end(.again(.unavailable("an earlier statement of the transaction failed")))
      case .success(let answers):
        observer?.committed(changes: 1, took: begun.duration(to: .now))
        tell(script, begins ? answers.dropFirst() : answers[...])
        end(.ended(.committed))
      case .failure(.refused(let error))
      where error.isGuard && script.additionSteps.contains(error.step - (begins ? 1 : 0)):
        end(.lockingThrottles)
      case .failure(.refused(let error)) where error.isGuard && steps[error.step].refusal != nil:
        end(.ended(steps[error.step].refusal ?? .stale))
      case .failure(.refused(let error)) where error.uniqueKey != nil:
        end(.ended(error.uniqueKey.map { .conflict($0) } ?? .stale))
      case .failure(let failure):
        end(judge(failure, committedWithinMillis: RoundTrip.statementMillis(of: steps) ?? statementMillis))
      }
      return nil
    }
  }

  /// - Parameter committedWithinMillis: nil if the change cannot have been committed.
  private func judge(_ failure: RequestError, committedWithinMillis: Int64?) -> Attempt {
    let error = failure.storeError
    let lost = committedWithinMillis.map { Attempt.unknown(error, withinMillis: $0) } ?? .again(error)
    return switch failure {
    case .unsent, .corrupt: .failed(error)
    case .lost: lost
    case .refused(let server) where server.isUnknown: lost
    case .refused(let server): server.isCollision || server.isOfConnection ? .again(error) : .failed(error)
    }
  }

  /// Reports the counts that the change has modified. A periodic count covers the changes of other processes.
  private func tell(_ script: Script, _ answers: ArraySlice<QueryResult>) {
    func answer(of step: Int) -> QueryResult? {
      let answer = answers[answers.startIndex + step]
      return answer.step() ? answer : nil
    }
    if let step = script.pendingStep, let count = try? answer(of: step)?.int() { observer?.holds(pendingRows: count) }
    var waiting: Int64?
    for step in script.deliverySteps {
      guard let answer = answer(of: step), let first = try? answer.int() else { continue }
      let held = try? answer.optionalInt64()
      waiting = held ?? waiting
      guard let isOverLimit = script.noticeSteps[step], held == nil else { continue }
      observer?.leftUnqueued(first > 0 ? .merged : isOverLimit ? .overLimit : .queueFull)
    }
    if let waiting { observer?.holds(waitingDeliveries: Int(waiting)) }
    for (step, purpose) in script.roomSteps where (try? answer(of: step)?.int()) ?? 0 > 0 {
      observer?.removedPending(for: purpose)
    }
    for limit in script.throttles.halfUsedLimits { observer?.reachedHalf(of: limit) }
  }
}

extension Statement {
  static let insertFence = Statement(
    "insert_fence",
    """
    INSERT INTO changes AS c (id, at, is_fence) VALUES ($1, $2, true)
    ON CONFLICT (id) DO UPDATE SET is_fence = c.is_fence RETURNING c.is_fence
    """)
}
