/// The start of a run, the start of its measurement, and its end, in nanoseconds of the monotonic clock.
struct Period: Equatable {
  let startNanos: Int64
  let measuredFromNanos: Int64
  let endNanos: Int64

  init(startNanos: Int64, warmUpNanos: Int64, measuredNanos: Int64) {
    self.startNanos = startNanos
    measuredFromNanos = startNanos + warmUpNanos
    endNanos = measuredFromNanos + measuredNanos
  }

  /// Whether an iteration counts. One with an intended start in the warm-up does not, even if it finishes later.
  func counts(intendedNanos: Int64) -> Bool { intendedNanos >= measuredFromNanos }

  /// Whether the time is between the warm-up and the end.
  func contains(_ nanos: Int64) -> Bool { (measuredFromNanos..<endNanos).contains(nanos) }
}

/// The schedule of iterations. A pace does not wait itself; the runner calls it with the current time.
enum Pace {
  case open(Arrivals)
  case closed(Period)

  /// Takes the next iteration that may start now, and returns its intended start. Returns nil if there is none.
  mutating func next(atNanos nowNanos: Int64) -> Int64? {
    switch self {
    case .open(var arrivals):
      defer { self = .open(arrivals) }
      return arrivals.next(atNanos: nowNanos)
    case .closed(let period): return nowNanos < period.endNanos ? nowNanos : nil
    }
  }

  /// Returns the time of the next iteration, if a slot is free then. Returns nil if there are no more iterations.
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

/// The evenly spaced arrivals of an open loop, independent of the server.
///
/// An arrival that finds no free slot starts late. Its latency still counts from its intended start, which avoids
/// coordinated omission (Tene). Arrivals start in order, so a counter is enough for the backlog.
struct Arrivals: Equatable {
  /// How long after the end overdue arrivals may still start, because a busy machine may wake the process late.
  static let graceNanos: Int64 = 250_000_000

  let ratePerSecond: Double
  let period: Period
  /// The number of arrivals in the period, excluding its end.
  private(set) var total = 0
  private(set) var started = 0

  init(ratePerSecond: Double, period: Period) {
    self.ratePerSecond = ratePerSecond
    self.period = period
    total = count(beforeNanos: period.endNanos)
  }

  /// The time from which no arrival starts.
  var closingNanos: Int64 { period.endNanos + Arrivals.graceNanos }

  /// The intended start of the next arrival; nil after the last.
  var nextNanos: Int64? { started < total ? intendedNanos(started) : nil }

  mutating func next(atNanos nowNanos: Int64) -> Int64? {
    guard let intended = nextNanos, intended <= nowNanos, nowNanos < closingNanos else { return nil }
    started += 1
    return intended
  }

  /// Returns the number of overdue arrivals. At the end these are the arrivals that never started.
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
    // The division may round in either direction for an arrival at exactly this nanosecond.
    while count > 0 && intendedNanos(count - 1) >= nanos { count -= 1 }
    while intendedNanos(count) < nanos { count += 1 }
    return count
  }
}
