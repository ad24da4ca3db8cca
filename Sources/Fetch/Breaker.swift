/// The circuit breaker of one provider: who failed again and again is left alone for a while, so that callers are told
/// at once what they would else wait the whole time limit for, and is then tried by one fetch before all others.
///
/// A value without a clock: what happens goes in with its moment, and what to do comes out.
struct Breaker: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Answer: Hashable {
    /// Fetch.
    case pass
    /// Fetch; whether the provider is well again depends on what comes of it.
    case trial
    case refuse
  }

  /// What came of a fetch, as far as it says something about the provider.
  enum End: Hashable {
    case answered
    case failed
    /// It says nothing: the fetch was given up by us.
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
  /// How often it has opened.
  private(set) var openings = 0

  init(_ limits: FetchLimits) {
    failuresMax = limits.failuresMax
    pause = .milliseconds(limits.pauseMillis)
  }

  var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Somebody wants to fetch. After `trial` no one else is let through until `ended` was told of it.
  mutating func asked(at now: Instant) -> Answer {
    switch state {
    case .closed: return .pass
    case .open(let end) where now < end: return .refuse
    case .open:
      state = .halfOpen
      return .trial
    case .halfOpen: return .refuse
    }
  }

  /// A fetch that was let through has ended.
  mutating func ended(_ end: End, asTrial: Bool, at now: Instant) {
    switch (state, end) {
    case (.closed, .answered): state = .closed(failures: 0)
    case (.closed(let failures), .failed) where failures + 1 < failuresMax: state = .closed(failures: failures + 1)
    case (.closed, .failed): open(at: now)
    case (.halfOpen, .answered) where asTrial: state = .closed(failures: 0)
    case (.halfOpen, .failed) where asTrial: open(at: now)
    // The next that comes is a trial again.
    case (.halfOpen, .unknown) where asTrial: state = .open(until: now)
    // What began before the provider was found ill says nothing new about it.
    case (.closed, .unknown), (.open, _), (.halfOpen, _): break
    }
  }

  private mutating func open(at now: Instant) {
    state = .open(until: now + pause)
    openings += 1
  }
}
