/// The circuit breaker of one provider or hook. After repeated failures it rejects fetches for a while, so that callers
/// fail immediately and do not wait for the time limit. A single trial fetch then decides whether it closes.
///
/// A value without a clock: the caller passes the time of each event.
package struct Breaker: Sendable {
  package typealias Instant = ContinuousClock.Instant

  package enum Answer: Hashable {
    /// Start the fetch.
    case pass
    /// Start the fetch as a trial. Its result decides whether the breaker closes.
    case trial
    case refuse
  }

  /// The result of a fetch, as evidence about the provider.
  package enum End: Hashable {
    case answered
    case failed
    /// No evidence: this process gave up the fetch.
    case unknown
  }

  private enum State: Hashable {
    case closed(failures: Int)
    case open(until: Instant)
    case halfOpen
  }

  private let failuresMax: Int
  private let pause: Duration
  private var state = State.closed(failures: 0)
  /// Number of times that the breaker has opened.
  private(set) var openings = 0

  package init(_ limits: FetchLimits) {
    failuresMax = limits.failuresMax
    pause = .milliseconds(limits.pauseMillis)
  }

  package var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Decides about a new fetch. After `trial` it rejects all others until `ended` receives the result of the trial.
  package mutating func asked(at now: Instant) -> Answer {
    switch state {
    case .closed: return .pass
    case .open(let end) where now < end: return .refuse
    case .open:
      state = .halfOpen
      return .trial
    case .halfOpen: return .refuse
    }
  }

  /// Records the result of a fetch that was allowed.
  package mutating func ended(_ end: End, asTrial: Bool, at now: Instant) {
    switch (state, end) {
    case (.closed, .answered): state = .closed(failures: 0)
    case (.closed(let failures), .failed) where failures + 1 < failuresMax: state = .closed(failures: failures + 1)
    case (.closed, .failed): open(at: now)
    case (.halfOpen, .answered) where asTrial: state = .closed(failures: 0)
    case (.halfOpen, .failed) where asTrial: open(at: now)
    // The next fetch is a trial again.
    case (.halfOpen, .unknown) where asTrial: state = .open(until: now)
    // Fetches that began before the breaker opened are no new evidence.
    case (.closed, .unknown), (.open, _), (.halfOpen, _): break
    }
  }

  private mutating func open(at now: Instant) {
    state = .open(until: now + pause)
    openings += 1
  }
}
