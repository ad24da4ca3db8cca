import Reactor
package import Store

// How a change is carried out: sent, begun again where the server gave it up for the sake of another, and settled where
// its connection was lost.

/// What one attempt came to.
enum Attempt: Sendable {
  case ended(Outcome)
  /// Nothing was written, and another attempt may succeed.
  case again(StoreError)
  /// Nothing was written.
  case failed(StoreError)
  /// The connection was lost: it may have been committed, or be within so long.
  case unknown(StoreError, withinMillis: Int64)
}

extension PostgresStore {
  package func commit(_ change: Change, fate: Fate) async throws -> Outcome {
    let result = await carryOut(change, fate)
    observer?.settled(result)
    return try result.get()
  }

  /// A fate is taken right before each attempt is sent, and let go of after those that wrote nothing. Where it cannot
  /// be found out what became of a change, its fate stays taken: nobody is told that it was cancelled.
  private func carryOut(_ change: Change, _ fate: Fate) async -> Result<Outcome, StoreError> {
    let begun = monotonicMillis()
    var attempts = 0
    while true {
      attempts += 1
      let id = ChangeID.random()
      var error: StoreError
      switch await attempt(change, id, fate) {
      case .ended(let outcome):
        if outcome != .committed { fate.release() }
        return .success(outcome)
      case .failed(let failure):
        fate.release()
        return .failure(failure)
      case .again(let failure): error = failure
      case .unknown(let failure, let withinMillis):
        observer?.lostCommit()
        guard let isCommitted = await settle(id, withinMillis: withinMillis) else { return .failure(failure) }
        if isCommitted { return .success(.committed) }
        error = failure
      }
      fate.release()
      guard attempts <= options.retriesMax, monotonicMillis() - begun < options.retryMillis else {
        return .failure(error)
      }
      await pause(attempts)
    }
  }

  /// Longer with each attempt, and by chance, so that those who collided do not do so again.
  private func pause(_ attempts: Int) async {
    let most = min(UInt64(200), 2 << UInt64(min(attempts, 8)))
    try? await Task.sleep(nanoseconds: UInt64.random(in: 0...most * 1_000_000))
  }

  func attempt(_ change: Change, _ id: ChangeID, _ fate: Fate) async -> Attempt {
    await withCheckedContinuation { continuation in
      let attempt = ChangeAttempt(change, id, options.statementMillis, observer) {
        continuation.resume(returning: $0)
      }
      put(
        Order(
          kind: .writing, sinceMillis: monotonicMillis(),
          begin: {
            guard fate.take() else {
              continuation.resume(returning: .ended(.cancelled))
              return nil
            }
            return attempt.begin()
          }, refuse: { continuation.resume(returning: fate.isCancelled ? .ended(.cancelled) : .failed($0)) }))
    }
  }

  // MARK: Fencing

  /// Whether a change whose connection was lost was committed; false: it never will be. nil: nobody could say in time.
  ///
  /// Each change inserts its id before all else. Here the same id is inserted by another connection: where that
  /// succeeds, the change was not committed, and cannot be any more, since its own insert would collide, even if the
  /// server is only about to receive it. Where the id is there already, the change was committed. A transaction that is
  /// still under way is waited for by the server. The row says who wrote it, so that a fence whose own answer was lost
  /// is not taken for the change.
  ///
  /// A row that is met is written again as it is: a COMMIT that has written nothing waits for no standby, and the
  /// change would be called committed before the standby that it has to survive on has it.
  ///
  /// - Parameter withinMillis: how long the server may still be at the change.
  func settle(_ id: ChangeID, withinMillis: Int64 = 0) async -> Bool? {
    let begun = monotonicMillis()
    let patienceMillis = max(options.settleMillis, withinMillis + options.slackMillis)
    repeat {
      let steps: @Sendable () -> [Step] = {
        [
          Step(.insertFence).bind(id.bytes).bind(wallMillis()),
          Step(.withoutTimeLimit),
        ]
      }
      let isFence = await ask(.writing, begin: .beginWriting, steps) { answers throws(Failure) in
        guard answers[0].step() else { throw .corrupt("a fence is gone") }
        return try answers[0].bool()
      }
      if case .success(let isFence) = isFence { return !isFence }
      if isClosed { return nil }
      try? await Task.sleep(nanoseconds: UInt64.random(in: 50...250) * 1_000_000)
    } while monotonicMillis() - begun < patienceMillis
    return nil
  }
}

/// One attempt at one change, on the thread of the desk that sends it.
private struct ChangeAttempt: Sendable {
  private let change: Change
  private let id: ChangeID
  private let statementMillis: Int64
  private let observer: (any StoreObserver)?
  private let end: @Sendable (Attempt) -> Void

  init(
    _ change: Change, _ id: ChangeID, _ statementMillis: Int64, _ observer: (any StoreObserver)?,
    end: @escaping @Sendable (Attempt) -> Void
  ) {
    self.change = change
    self.id = id
    self.statementMillis = statementMillis
    self.observer = observer
    self.end = end
  }

  /// One round trip, or two: throttles are locked and read by the first.
  func begin() -> Trip {
    let throttles = ThrottleRows(change)
    let begun = ContinuousClock.now
    guard !throttles.isEmpty else { return writing(throttles, begins: true, begun) }
    let locks = [Step(.beginWriting)] + throttles.locks
    return Trip(steps: locks, begins: true, ends: false) { ending in
      do throws(Failure) {
        try throttles.read(try ending.get().dropFirst())
        return writing(throttles, begins: false, begun)
      } catch {
        // Without its COMMIT it was not committed, whatever became of the connection.
        end(judge(error, committedWithinMillis: nil))
        return nil
      }
    }
  }

  private func writing(_ throttles: ThrottleRows, begins: Bool, _ begun: ContinuousClock.Instant) -> Trip {
    let script = Script(change, id: id, throttles: throttles, statementMillis: statementMillis)
    let steps = (begins ? [Step(.beginWriting)] : []) + script.steps + [Step(.commit)]
    return Trip(steps: steps, begins: begins, ends: true) { ending in
      switch ending {
      case .success(let answers) where answers.last?.isCommit != true:
        end(.again(.unavailable("the transaction had failed before")))
      case .success(let answers):
        observer?.committed(changes: 1, took: begun.duration(to: .now))
        tell(script, begins ? answers.dropFirst() : answers[...])
        end(.ended(.committed))
      case .failure(.refused(let error)) where error.isGuard && steps[error.step].refusal != nil:
        end(.ended(steps[error.step].refusal ?? .stale))
      case .failure(.refused(let error)) where error.uniqueKey != nil:
        end(.ended(error.uniqueKey.map { .conflict($0) } ?? .stale))
      case .failure(let failure):
        end(judge(failure, committedWithinMillis: Trip.statementMillis(of: steps) ?? statementMillis))
      }
      return nil
    }
  }

  /// - Parameter committedWithinMillis: nil where it cannot be.
  private func judge(_ failure: Failure, committedWithinMillis: Int64?) -> Attempt {
    let error = failure.storeError
    let lost = committedWithinMillis.map { Attempt.unknown(error, withinMillis: $0) } ?? .again(error)
    return switch failure {
    case .unsent, .corrupt: .failed(error)
    case .lost: lost
    case .refused(let server) where server.isUnknown: lost
    case .refused(let server): server.isCollision || server.isOfConnection ? .again(error) : .failed(error)
    }
  }

  /// Reports what the change has made of the counts. What other processes do to them is looked at from time to time.
  private func tell(_ script: Script, _ answers: ArraySlice<Answer>) {
    func answer(of step: Int) -> Answer? {
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
