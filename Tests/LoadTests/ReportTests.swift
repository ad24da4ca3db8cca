import FoundationEssentials
import Testing

@testable import latchkey_load

private let second: Int64 = 1_000_000_000
private let millisecond: Int64 = 1_000_000

private func recorder(warmUp: Int64 = 0, measured: Int64 = 3 * second) -> Recorder {
  Recorder(
    calls: ["A", "B"], iterations: ["one"],
    period: Period(startNanos: 0, warmUpNanos: warmUp, measuredNanos: measured))
}

private let facts = RunFacts(
  target: "localhost:8443", ratePerSecond: nil, connections: 2, streams: 3, seed: 1, warmUpSeconds: 0,
  durationSeconds: 3)

private func report(_ recorder: Recorder, neverStarted: Int = 0) -> Report {
  let outcome = Runner.Outcome(
    recorder: recorder, measuredSeconds: 3, neverStarted: neverStarted, reconnections: 0, stuck: nil)
  return Report(facts, outcome)
}

@Test func `latencies are stored with three digits, and the longest is kept`() {
  var latencies = Latencies()
  for millis in 1...1_000 { latencies.record(nanos: Int64(millis) * millisecond) }
  latencies.record(nanos: 10 * Latencies.nanosMax)
  let summary = latencies.summary
  for (value, expected) in [(summary.min, 1e3), (summary.p50, 501e3), (summary.p99, 991e3), (summary.max, 1e8)] {
    #expect(abs(value - expected) <= expected / 500)
  }
  #expect(latencies.count == 1_001)
}

@Test func `a report without records has only zeros and no curve`() {
  #expect(Latencies().summary == LatencySummary())
  #expect(Latencies().curve.isEmpty)
}

@Test func `the curve rises in both directions to the largest value`() throws {
  var latencies = Latencies()
  for millis in 1...10_000 { latencies.record(nanos: Int64(millis) * millisecond) }
  let curve = latencies.curve
  #expect(zip(curve, curve.dropFirst()).allSatisfy { $0.percentile <= $1.percentile && $0.micros <= $1.micros })
  #expect(try abs(#require(curve.last).micros - 1e7) < 2e4)
  #expect(try abs(#require(curve.last).percentile - 99.99) < 1e-9)
}

@Test func `a call's latency counts from its intended start, an iteration's from its own`() {
  let recorder = recorder()
  recorder.answered(call: 0, intendedNanos: 0, begunNanos: 0, atNanos: 5 * millisecond)
  recorder.answered(call: 1, intendedNanos: 5 * millisecond, begunNanos: 0, atNanos: 7 * millisecond)
  recorder.completed(iteration: 0, begunNanos: 0, atNanos: 7 * millisecond)
  let maxima = (recorder.calls + recorder.iterations).map { ($0.latencies.summary.max / 1_000).rounded() }
  #expect(maxima == [5, 2, 7])
}

@Test func `the figures exclude the warm-up, except its wrong answers`() {
  let recorder = recorder(warmUp: second)
  recorder.answered(call: 0, intendedNanos: second - 1, begunNanos: second - 1, atNanos: 2 * second)
  recorder.failed(call: 0, .wrong("another account"), atNanos: second / 2)
  recorder.answered(call: 0, intendedNanos: second, begunNanos: second, atNanos: 2 * second)
  #expect(recorder.calls[0].ok == 1)
  #expect(recorder.failed == 1)
}

@Test func `a rate counts calls answered between the warm-up and the end, whenever they began`() {
  let recorder = recorder(warmUp: second, measured: second)
  for (begun, answered) in [(0, second / 2), (second / 2, second), (second, 2 * second - 1), (second, 2 * second)] {
    recorder.answered(call: 0, intendedNanos: begun, begunNanos: begun, atNanos: answered)
    recorder.completed(iteration: 0, begunNanos: begun, atNanos: answered)
  }
  for tally in [recorder.calls[0], recorder.iterations[0]] {
    #expect(tally.answeredInTime == 2)
    #expect(tally.ok == 2)
  }
  #expect(recorder.takeRecent().count == 4)
  #expect(recorder.takeRecent().count == 0)
}

@Test func `every second of a run is listed, including one without an answer`() {
  let recorder = recorder()
  recorder.answered(call: 0, intendedNanos: 0, begunNanos: 0, atNanos: 10 * millisecond)
  recorder.answered(call: 0, intendedNanos: 0, begunNanos: 0, atNanos: 2 * second + second / 2)
  recorder.failed(call: 1, .lost("the connection broke"), atNanos: 2 * second + second / 2)
  // Answers after the end count in the last second, since they have no second of their own.
  recorder.answered(call: 0, intendedNanos: 0, begunNanos: 0, atNanos: 3 * second + 1)
  recorder.finish()
  #expect(recorder.seconds.map(\.startSeconds) == [0, 1, 2])
  #expect(recorder.seconds.map(\.ok) == [1, 0, 2])
  #expect(recorder.seconds.map(\.failed) == [0, 0, 1])
  #expect(recorder.minutes.map(\.ok) == [3])
}

@Test func `a report counts each kind of error separately, and the counts add up`() throws {
  let recorder = recorder()
  for _ in 0..<9 { recorder.answered(call: 0, intendedNanos: 0, begunNanos: 0, atNanos: millisecond) }
  recorder.failed(call: 0, .wrong("another account"), atNanos: 0)
  for _ in 0..<3 { recorder.failed(call: 1, .refused(status: "UNAUTHENTICATED", reason: "TOKEN_REVOKED"), atNanos: 0) }
  for _ in 0..<2 { recorder.failed(call: 1, .lost("deadline"), atNanos: 0) }
  let report = report(recorder, neverStarted: 4)
  #expect([report.ok, report.wrong, report.refused, report.lost, report.failed] == [9, 1, 3, 2, 6])
  #expect(report.callsPerSecond == 3)
  #expect(report.calls[1].flaws.map(\.why) == ["UNAUTHENTICATED TOKEN_REVOKED", "deadline"])
  let decoder = JSONDecoder()
  decoder.keyDecodingStrategy = .convertFromSnakeCase
  #expect(try decoder.decode(Report.self, from: Data(report.json)) == report)
  for part in ["never started", "3 × refused: UNAUTHENTICATED TOKEN_REVOKED", "closed loop of 6"] {
    #expect(report.table.contains(part))
  }
}

@Test func `a call that was never made has no row`() {
  let recorder = recorder()
  recorder.answered(call: 1, intendedNanos: 0, begunNanos: 0, atNanos: millisecond)
  #expect(report(recorder).calls.map(\.name) == ["B"])
}

@Test func `numbers are written in a readable form`() {
  #expect([grouped(0), grouped(999), grouped(1_000), grouped(-1_234_567)] == ["0", "999", "1,000", "-1,234,567"])
  #expect([fixed(1.005, digits: 1), fixed(0.04, digits: 2), fixed(-0.01, digits: 1), fixed(12.5, digits: 0)]
    == ["1.0", "0.04", "0.0", "13"])
  #expect([millis(123), millis(1_234), millis(12_340), millis(123_400)] == ["0.123", "1.23", "12.3", "123"])
}

@Test func `a plot is well-formed, with units on its axes and one line for each kind of call`() {
  var latencies = Latencies()
  for millis in 1...1_000 { latencies.record(nanos: Int64(millis) * millisecond) }
  let second = Interval(startSeconds: 0, ok: 5, failed: 0, p50Micros: 500, p99Micros: 900, maxMicros: 1_000)
  let svg = Plot(
    title: "a < b & c", curves: [.init(name: "A", points: latencies.curve), .init(name: "B", points: latencies.curve)],
    seconds: [second]).svg
  for part in ["latency (ms)", "percentile of calls (%)", "time since the warm-up (s)", "a &lt; b &amp; c", ">99.9<"] {
    #expect(svg.contains(part))
  }
  #expect(!svg.contains("nan") && !svg.contains("inf"))
  #expect(Plot(title: "", curves: [], seconds: []).svg.contains("latency (ms)"))
}
