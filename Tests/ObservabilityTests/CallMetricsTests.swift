import Callers
import GRPC
import Store
import Reactor
import Services
import Testing
import API
import Protobuf

@testable import Observability

private func method(_ path: String) -> Services.Method { Method(path, .stream(fromClient: false) { _ in Silent() }) }

private final class Silent: StreamHandler {
  func received(_ message: Message, arena: Arena) throws -> StreamStep { StreamStep() }
}

/// Two methods, two reactors, and the non-zero samples.
private struct Counted {
  let registry = MetricsRegistry()
  let calls = CallMetrics([method("/a.B/One"), method("/a.B/Two")], reactors: 2)

  init() { calls.report(to: registry) }

  func samples(_ name: String) -> [String] {
    registry.exposition().split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) && !$0.hasSuffix(" 0") }
  }
}

@Test func `the layout of a tally has one place for each status and each bucket`() {
  let layout = CallLayout(methods: 3)
  #expect(CallLayout.codeCount == StatusName.all.count)
  #expect(CallLayout.bucketCount == Bounds.seconds.count + 1)
  var cells = [layout.streams]
  for method in 0...3 {
    cells += [layout.begun(method), layout.nanos(method)]
    cells += (0..<CallLayout.codeCount).map { layout.ended(method, code: $0) }
    cells += (0..<CallLayout.bucketCount).map { layout.bucket(method, $0) }
  }
  for caller in 0..<CallerLabels.count {
    cells += [layout.ofCaller(caller, succeeded: true), layout.ofCaller(caller, succeeded: false)]
  }
  #expect(cells.sorted() == Array(0..<layout.count))
}

@Test func `the status codes have the names and numbers of gRPC`() {
  let named: [(GRPC.Status.Code, String)] = [
    (.ok, "OK"), (.cancelled, "CANCELLED"), (.unknown, "UNKNOWN"), (.deadlineExceeded, "DEADLINE_EXCEEDED"),
    (.permissionDenied, "PERMISSION_DENIED"), (.resourceExhausted, "RESOURCE_EXHAUSTED"),
    (.unimplemented, "UNIMPLEMENTED"), (.internal, "INTERNAL"), (.unavailable, "UNAVAILABLE"),
    (.unauthenticated, "UNAUTHENTICATED"),
  ]
  for (code, name) in named { #expect(StatusName.all[code.rawValue] == name) }
}

@Test func `calls are counted by method and status, over all reactors`() {
  let counted = Counted()
  let (one, two) = (counted.calls.meter(ofReactor: 0), counted.calls.meter(ofReactor: 1))
  for _ in 0..<3 { one.began(0) }
  two.began(0)
  two.began(1)
  #expect(
    counted.samples("latchkey_calls_in_flight") == [
      "latchkey_calls_in_flight{method=\"a.B/One\"} 4", "latchkey_calls_in_flight{method=\"a.B/Two\"} 1",
    ])
  for _ in 0..<3 { one.ended(0, .ok, caller: 0, begunNanos: nil) }
  two.ended(0, .ok, caller: 0, begunNanos: nil)
  two.ended(1, .unauthenticated, caller: 0, begunNanos: nil)
  one.refused(1, .resourceExhausted)
  one.refused(nil, .unimplemented)
  #expect(
    counted.samples("latchkey_calls_total") == [
      "latchkey_calls_total{code=\"OK\",method=\"a.B/One\"} 4",
      "latchkey_calls_total{code=\"RESOURCE_EXHAUSTED\",method=\"a.B/Two\"} 1",
      "latchkey_calls_total{code=\"UNAUTHENTICATED\",method=\"a.B/Two\"} 1",
      "latchkey_calls_total{code=\"UNIMPLEMENTED\",method=\"unknown\"} 1",
    ])
  #expect(counted.samples("latchkey_calls_in_flight").isEmpty)
}

@Test func `the number of streams rises and falls`() {
  let counted = Counted()
  let (one, two) = (counted.calls.meter(ofReactor: 0), counted.calls.meter(ofReactor: 1))
  one.streams(5)
  two.streams(2)
  one.streams(-4)
  #expect(counted.samples("latchkey_streams") == ["latchkey_streams 3"])
}

@Test func `a call's time ends with its turn, and is counted once`() {
  let counted = Counted()
  let meter = counted.calls.meter(ofReactor: 0)
  meter.began(1)
  meter.ended(1, .ok, caller: 0, begunNanos: monotonicNanos() - 30_000_000_000)
  #expect(counted.samples("latchkey_call_seconds_count").isEmpty)
  meter.endTurn()
  meter.endTurn()
  #expect(
    counted.samples("latchkey_call_seconds_count") == ["latchkey_call_seconds_count{method=\"a.B/Two\"} 1"])
  // Half a minute is above all bounds.
  #expect(
    counted.samples("latchkey_call_seconds_bucket")
      == ["latchkey_call_seconds_bucket{method=\"a.B/Two\",le=\"+Inf\"} 1"])
}

@Test func `a time is counted in the first bucket whose bound it does not exceed`() {
  let counted = Counted()
  let meter = counted.calls.meter(ofReactor: 0)
  for nanos: Int64 in [0, 100_000, 100_001, 250_000, 10_000_000_000, 10_000_000_001] { meter.count(0, nanos: nanos) }
  let buckets = counted.samples("latchkey_call_seconds_bucket").map { $0.split(separator: " ").last ?? "" }
  #expect(buckets == ["2"] + Array(repeating: "4", count: 14) + ["5", "6"])
  #expect(
    counted.samples("latchkey_call_seconds_sum") == ["latchkey_call_seconds_sum{method=\"a.B/One\"} 20.000450002"])
}

@Test func `calls are counted by caller and result, over all reactors`() throws {
  let (registry, labels) = (MetricsRegistry(), CallerLabels())
  let settings = CallerSettings(name: "shop", san: "shop", methods: ["*"], audiences: ["shop"])
  let shop = try CallerTable([settings], unidentified: nil, paths: [], labels: labels)
    .identify(certificateName: "shop", authorization: [], now: Timestamp(millis: 0))
  let calls = CallMetrics([method("/a.B/One")], reactors: 2, callers: labels)
  calls.report(to: registry)
  for reactor in 0..<2 {
    let meter = calls.meter(ofReactor: reactor)
    meter.ended(0, .ok, caller: shop.label, begunNanos: nil)
    meter.ended(0, .cancelled, caller: shop.label, begunNanos: nil)
    meter.refused(0, .permissionDenied, caller: shop.label)
    meter.ended(0, .ok, caller: Caller.anyone.label, begunNanos: nil)
    meter.refused(nil, .unimplemented)
  }
  let lines = registry.exposition().split(separator: "\n").map(String.init)
    .filter { $0.hasPrefix("latchkey_caller_calls_total") && !$0.hasSuffix(" 0") }
  #expect(
    lines == [
      "latchkey_caller_calls_total{caller=\"anyone\",result=\"ok\"} 2",
      "latchkey_caller_calls_total{caller=\"shop\",result=\"ok\"} 2",
      "latchkey_caller_calls_total{caller=\"shop\",result=\"failed\"} 4",
    ])
}
