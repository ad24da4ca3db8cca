/// The reason why a call counts as failed.
enum Flaw: Hashable {
  /// A status other than OK, with the reason in its ErrorInfo.
  case refused(status: String, reason: String)
  /// Status OK, but an incorrect response.
  case wrong(String)
  /// No response: the connection broke or the deadline passed.
  case lost(String)

  var kind: String {
    switch self {
    case .refused: "refused"
    case .wrong: "wrong"
    case .lost: "lost"
    }
  }

  var why: String {
    switch self {
    case .refused(let status, let reason): reason.isEmpty ? status : "\(status) \(reason)"
    case .wrong(let why), .lost(let why): why
    }
  }
}

/// The counters of one method or one workload.
struct Tally {
  let name: String
  private(set) var ok = 0
  /// The number of correct responses between the warm-up and the end, for computing rates.
  ///
  /// Calls that began during the warm-up count. Calls that finish after the end do not.
  var answeredInTime = 0
  private(set) var flaws: [Flaw: Int] = [:]
  private(set) var latencies = Latencies()

  init(_ name: String) { self.name = name }

  var failed: Int { flaws.values.reduce(0, +) }

  mutating func record(nanos: Int64) {
    ok += 1
    latencies.record(nanos: nanos)
  }

  mutating func record(_ flaw: Flaw) { flaws[flaw, default: 0] += 1 }
}

/// The counters and latencies of a run.
///
/// Latencies of the warm-up do not count, but failures during the warm-up do.
final class Recorder {
  private(set) var calls: [Tally]
  private(set) var iterations: [Tally]
  private(set) var seconds: [Interval] = []
  private(set) var minutes: [Interval] = []

  private let period: Period
  /// Latencies since the last progress report, including the warm-up.
  private var recent = Latencies()
  private var second: OpenInterval
  private var minute: OpenInterval

  init(calls: [String] = CallRow.names, iterations: [String], period: Period) {
    self.calls = calls.map { Tally($0) }
    self.iterations = iterations.map { Tally($0) }
    self.period = period
    second = OpenInterval(period, lengthNanos: 1_000_000_000)
    minute = OpenInterval(period, lengthNanos: 60_000_000_000)
  }

  /// Records a correct response.
  ///
  /// - Parameter intendedNanos: the intended start of the iteration for its first call, otherwise the end of the
  ///   previous call.
  /// - Parameter begunNanos: the intended start of the iteration.
  func answered(call: Int, intendedNanos: Int64, begunNanos: Int64, atNanos nowNanos: Int64) {
    let nanos = nowNanos - intendedNanos
    recent.record(nanos: nanos)
    if period.contains(nowNanos) { calls[call].answeredInTime += 1 }
    guard period.counts(intendedNanos: begunNanos) else { return }
    calls[call].record(nanos: nanos)
    advance(toNanos: nowNanos)
    second.record(nanos: nanos)
    minute.record(nanos: nanos)
  }

  func failed(call: Int, _ flaw: Flaw, atNanos nowNanos: Int64) {
    calls[call].record(flaw)
    advance(toNanos: nowNanos)
    second.failed += 1
    minute.failed += 1
  }

  func completed(iteration: Int, begunNanos: Int64, atNanos nowNanos: Int64) {
    if period.contains(nowNanos) { iterations[iteration].answeredInTime += 1 }
    if period.counts(intendedNanos: begunNanos) { iterations[iteration].record(nanos: nowNanos - begunNanos) }
  }

  func failed(iteration: Int, _ flaw: Flaw) { iterations[iteration].record(flaw) }

  /// Closes all intervals that have ended, including empty ones, because a second without responses matters.
  func advance(toNanos nowNanos: Int64) {
    while let closed = second.close(atNanos: nowNanos) { seconds.append(closed) }
    while let closed = minute.close(atNanos: nowNanos) { minutes.append(closed) }
  }

  /// Closes the open intervals at the end of the run.
  func finish() {
    if let rest = second.rest { seconds.append(rest) }
    if let rest = minute.rest { minutes.append(rest) }
  }

  /// Returns the number and latencies of the responses since the last call of this method.
  func takeRecent() -> (count: Int, summary: LatencySummary) {
    defer { recent.reset() }
    return (Int(recent.count), recent.summary)
  }

  /// The number of failed calls. An iteration fails only if one of its calls fails.
  var failed: Int { calls.reduce(0) { $0 + $1.failed } }
}

/// One second or minute of a run.
struct Interval: Codable, Equatable {
  /// The start, from the end of the warm-up.
  var startSeconds: Double
  var ok: Int
  var failed: Int
  var p50Micros: Double
  var p99Micros: Double
  var maxMicros: Double
}

/// The interval in progress.
private struct OpenInterval {
  private let period: Period
  private let lengthNanos: Int64
  private var startNanos: Int64
  private var latencies = Latencies()
  var failed = 0

  init(_ period: Period, lengthNanos: Int64) {
    self.period = period
    self.lengthNanos = lengthNanos
    startNanos = period.measuredFromNanos
  }

  mutating func record(nanos: Int64) { latencies.record(nanos: nanos) }

  /// Closes and returns the interval if it has ended. The last interval also gets responses after the end.
  mutating func close(atNanos nowNanos: Int64) -> Interval? {
    let endNanos = startNanos + lengthNanos
    guard nowNanos >= endNanos, endNanos < period.endNanos else { return nil }
    defer {
      startNanos += lengthNanos
      latencies.reset()
      failed = 0
    }
    return interval
  }

  /// The incomplete interval; nil if it is empty.
  var rest: Interval? { latencies.count == 0 && failed == 0 ? nil : interval }

  private var interval: Interval {
    Interval(
      startSeconds: Double(startNanos - period.measuredFromNanos) / 1e9, ok: Int(latencies.count), failed: failed,
      p50Micros: latencies.micros(percentile: 50), p99Micros: latencies.micros(percentile: 99),
      maxMicros: latencies.summary.max)
  }
}
