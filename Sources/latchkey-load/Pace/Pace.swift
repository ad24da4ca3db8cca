/// When a run begins, from when it counts, and when nothing new starts any more; nanoseconds of the monotonic clock.
struct Period: Equatable {
  let startNanos: Int64
  let measuredFromNanos: Int64
  let endNanos: Int64

  init(startNanos: Int64, warmUpNanos: Int64, measuredNanos: Int64) {
    self.startNanos = startNanos
    measuredFromNanos = startNanos + warmUpNanos
    endNanos = measuredFromNanos + measuredNanos
  }

  /// What was meant to start during the warm-up stays out of the figures, however late it was answered.
  func counts(intendedNanos: Int64) -> Bool { intendedNanos >= measuredFromNanos }

  /// Between the warm-up and the end.
  func contains(_ nanos: Int64) -> Bool { (measuredFromNanos..<endNanos).contains(nanos) }
}

/// Says when the next iteration starts. It does no waiting of its own: who drives it asks with the time at hand.
enum Pace {
  case open(Arrivals)
  case closed(Period)

  /// The intended start of an iteration that may start now, which is taken by asking.
  mutating func next(atNanos nowNanos: Int64) -> Int64? {
    switch self {
    case .open(var arrivals):
      defer { self = .open(arrivals) }
      return arrivals.next(atNanos: nowNanos)
    case .closed(let period): return nowNanos < period.endNanos ? nowNanos : nil
    }
  }

  /// When it is worth asking again, given a free place; nil: never.
  func wakeNanos(atNanos nowNanos: Int64) -> Int64? {
    switch self {
    case .open(let arrivals): nowNanos < arrivals.closingNanos ? arrivals.nextNanos : nil
    case .closed(let period): nowNanos < period.endNanos ? nowNanos : nil
    }
  }

  var period: Period {
    switch self {
    case .open(let arrivals): arrivals.period
    case .closed(let period): period
    }
  }

  func backlog(atNanos nowNanos: Int64) -> Int {
    switch self {
    case .open(let arrivals): arrivals.backlog(atNanos: nowNanos)
    case .closed: 0
    }
  }
}

/// The arrivals of an open loop: evenly spaced, whatever the server does.
///
/// An arrival that finds no free place starts later and keeps its intended start, from which its latency counts: people
/// who wait in front of a stalled server wait too (Tene's coordinated omission). Arrivals start in their order, so the
/// backlog is a number and no queue.
struct Arrivals: Equatable {
  /// For how long after the end those that are due still start: a busy machine may wake us late.
  static let graceNanos: Int64 = 250_000_000

  let ratePerSecond: Double
  let period: Period
  /// All arrivals of the period, its end excluded.
  private(set) var total = 0
  private(set) var started = 0

  init(ratePerSecond: Double, period: Period) {
    self.ratePerSecond = ratePerSecond
    self.period = period
    total = count(beforeNanos: period.endNanos)
  }

  /// From here on nothing starts.
  var closingNanos: Int64 { period.endNanos + Arrivals.graceNanos }

  /// When the first arrival that has not started is due; nil after the last.
  var nextNanos: Int64? { started < total ? intendedNanos(started) : nil }

  mutating func next(atNanos nowNanos: Int64) -> Int64? {
    guard let intended = nextNanos, intended <= nowNanos, nowNanos < closingNanos else { return nil }
    started += 1
    return intended
  }

  /// Arrivals that are due and have not started; in the end those that never will.
  func backlog(atNanos nowNanos: Int64) -> Int {
    max(0, count(beforeNanos: min(nowNanos + 1, period.endNanos)) - started)
  }

  private func intendedNanos(_ index: Int) -> Int64 {
    period.startNanos + Int64((Double(index) / ratePerSecond * 1e9).rounded())
  }

  private func count(beforeNanos nanos: Int64) -> Int {
    let elapsed = Double(nanos - period.startNanos)
    guard elapsed > 0 else { return 0 }
    var count = Int((elapsed * ratePerSecond / 1e9).rounded())
    // The division may round to either side of an arrival that falls on the very nanosecond.
    while count > 0 && intendedNanos(count - 1) >= nanos { count -= 1 }
    while intendedNanos(count) < nanos { count += 1 }
    return count
  }
}
