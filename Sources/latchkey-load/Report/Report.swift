internal import FoundationEssentials

/// The report that `--json` writes: the parameters and the results of a run.
struct Report: Codable, Equatable {
  var run: RunFacts
  var ok: Int
  var refused: Int
  var wrong: Int
  var lost: Int
  var callsPerSecond: Double
  /// The number of arrivals of an open loop that found no free slot until the end.
  ///
  /// If it is not 0, the run did not reach the rate, and the latencies are lower than those that users would see.
  var neverStarted: Int
  /// The number of connections that replaced a closed or broken one.
  var reconnections: Int
  /// The reason why the run ended early; nil if it did not.
  var stuck: String?
  var calls: [Row]
  var iterations: [Row]
  var seconds: [Interval]
  var minutes: [Interval]

  struct Row: Codable, Equatable {
    var name: String
    var perSecond: Double
    var ok: Int
    var failed: Int
    var flaws: [Count]
    var micros: LatencySummary
  }

  struct Count: Codable, Equatable {
    var kind: String
    var why: String
    var count: Int
  }

  init(_ run: RunFacts, _ outcome: Runner.Outcome) {
    let recorder = outcome.recorder
    self.run = run
    neverStarted = outcome.neverStarted
    reconnections = outcome.reconnections
    stuck = outcome.stuck
    calls = recorder.calls.filter { $0.ok + $0.failed > 0 }.map { Row($0, outcome.measuredSeconds) }
    iterations = recorder.iterations.map { Row($0, outcome.measuredSeconds) }
    seconds = recorder.seconds
    minutes = recorder.minutes
    let all = calls
    func flaws(_ kind: String) -> Int {
      all.flatMap(\.flaws).filter { $0.kind == kind }.reduce(0) { $0 + $1.count }
    }
    ok = all.reduce(0) { $0 + $1.ok }
    refused = flaws("refused")
    wrong = flaws("wrong")
    lost = flaws("lost")
    callsPerSecond = all.reduce(0) { $0 + $1.perSecond }
  }

  var failed: Int { refused + wrong + lost }

  var json: [UInt8] {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Encoding cannot fail, because a report has no infinities.
    guard let data = try? encoder.encode(self) else { preconditionFailure("the report cannot be encoded as JSON") }
    return Array(data) + [UInt8(ascii: "\n")]
  }
}

extension Report.Row {
  fileprivate init(_ tally: Tally, _ seconds: Double) {
    let flaws = tally.flaws.map { Report.Count(kind: $0.key.kind, why: $0.key.why, count: $0.value) }
    self.init(
      name: tally.name, perSecond: (Double(tally.answeredInTime) / seconds * 10).rounded() / 10, ok: tally.ok,
      failed: tally.failed, flaws: flaws.sorted { ($1.count, $0.why) < ($0.count, $1.why) },
      micros: tally.latencies.summary)
  }
}

/// The parameters of a run.
struct RunFacts: Codable, Equatable {
  var target: String
  /// Iterations per second; nil for a closed loop.
  var ratePerSecond: Double?
  var connections: Int
  var streams: Int
  var seed: UInt64
  var warmUpSeconds: Double
  var durationSeconds: Double

  var loop: String {
    guard let ratePerSecond else { return "closed loop of \(connections * streams)" }
    return "open loop of \(fixed(ratePerSecond, digits: ratePerSecond < 10 ? 2 : 0)) iterations/s"
  }
}
