/// Why an answer did not count as a right one.
enum Flaw: Hashable {
  /// A status other than OK, with the reason of its ErrorInfo.
  case refused(status: String, reason: String)
  /// OK, and not what it must say.
  case wrong(String)
  /// No answer: the connection broke or the deadline passed.
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

/// What is counted of one kind of call, or of one kind of iteration.
struct Tally {
  let name: String
  private(set) var ok = 0
  /// Right answers between the warm-up and the end, whenever their call began: a rate is made of these, since what is
  /// begun before the end and answered after it has no time to be divided by.
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

/// Counts every answer of a run and keeps the latencies of the right ones.
///
/// Latencies of the warm-up are left out. Flaws never are: a wrong answer is one at any time.
final class Recorder {
  private(set) var calls: [Tally]
  private(set) var iterations: [Tally]
  private(set) var seconds: [Interval] = []
  private(set) var minutes: [Interval] = []

  private let period: Period
  /// Since the progress was last asked for; the warm-up is in it.
  private var recent = Latencies()
  private var second: OpenInterval
  private var minute: OpenInterval

  init(calls: [String], iterations: [String], period: Period) {
    self.calls = calls.map { Tally($0) }
    self.iterations = iterations.map { Tally($0) }
    self.period = period
    second = OpenInterval(period, lengthNanos: 1_000_000_000)
    minute = OpenInterval(period, lengthNanos: 60_000_000_000)
  }

  /// A right answer. `intendedNanos` is when the iteration was to start for its first call, and the end of the call
  /// before for any other; `begunNanos` is the intended start of the whole iteration.
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

  /// Closes the intervals that are over, empty ones too: a second without an answer is a fact.
  func advance(toNanos nowNanos: Int64) {
    while let closed = second.close(atNanos: nowNanos) { seconds.append(closed) }
    while let closed = minute.close(atNanos: nowNanos) { minutes.append(closed) }
  }

  /// Closes what has begun.
  func finish() {
    if let rest = second.rest { seconds.append(rest) }
    if let rest = minute.rest { minutes.append(rest) }
  }

  /// What has been answered since this was last asked.
  func takeRecent() -> (count: Int, summary: LatencySummary) {
    defer { recent.reset() }
    return (Int(recent.count), recent.summary)
  }

  /// An iteration fails only by one of its calls, so these are all.
  var failed: Int { calls.reduce(0) { $0 + $1.failed } }
}

/// One second or minute of a run.
struct Interval: Codable, Equatable {
  /// From the end of the warm-up.
  var startSeconds: Double
  var ok: Int
  var failed: Int
  var p50Micros: Double
  var p99Micros: Double
  var maxMicros: Double
}

/// The interval that is under way.
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

  /// The last one takes what is answered after the end.
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

  /// What has not come to its full length; nil where nothing happened in it.
  var rest: Interval? { latencies.count == 0 && failed == 0 ? nil : interval }

  private var interval: Interval {
    Interval(
      startSeconds: Double(startNanos - period.measuredFromNanos) / 1e9, ok: Int(latencies.count), failed: failed,
      p50Micros: latencies.micros(percentile: 50), p99Micros: latencies.micros(percentile: 99),
      maxMicros: latencies.summary.max)
  }
}
