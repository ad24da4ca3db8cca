import Testing
import Tracing

@testable import GRPC
@testable import Observability

private func trace(_ low: UInt64, parentIsSampled: Bool? = nil) -> CallTrace {
  var trace = CallTrace(
    traceID: TraceID(high: 1, low: low), spanID: 7, parent: nil, givenRequestID: [],
    madeRequestID: TraceID(high: 1, low: low))
  if let parentIsSampled {
    let text = "00-00000000000000010000000000000002-0000000000000003-0\(parentIsSampled ? 1 : 0)"
    trace.parent = TraceParent(Array(text.utf8).span)
  }
  return trace
}

@Test func `the ratio decides by the trace ID, so that all servers decide alike`() {
  let half = TraceSampler(ratio: 0.5, followsCallers: true)
  #expect(half.samples(trace(0), isIdentified: true) && !half.samples(trace(.max), isIdentified: true))
  #expect(half.samples(trace(1 << 63 - 1), isIdentified: false) && !half.samples(trace(1 << 63), isIdentified: false))
  for low in [0, 1, .max] as [UInt64] {
    #expect(TraceSampler(ratio: 1, followsCallers: true).samples(trace(low), isIdentified: true))
    #expect(!TraceSampler(ratio: 0, followsCallers: true).samples(trace(low), isIdentified: true))
  }
}

@Test(arguments: [
  (true, true, 0.0, true), (false, true, 1.0, false), (true, false, 0.0, false), (false, false, 1.0, true),
])
func `the flag of an identified caller decides, and that of any other client does not`(
  isSampled: Bool, isIdentified: Bool, ratio: Double, expected: Bool
) {
  let sampler = TraceSampler(ratio: ratio, followsCallers: true)
  #expect(sampler.samples(trace(1, parentIsSampled: isSampled), isIdentified: isIdentified) == expected)
  let alone = TraceSampler(ratio: ratio, followsCallers: false)
  #expect(alone.samples(trace(1, parentIsSampled: isSampled), isIdentified: true) == (ratio == 1))
}

@Test func `a trace ID that a client chose does not decide unless the client is followed`() {
  let half = TraceSampler(ratio: 0.5, followsCallers: true)
  let alone = TraceSampler(ratio: 0.5, followsCallers: false)
  for low in [0, 1, .max] as [UInt64] {
    for (spanID, expected) in [(0, true), (1 << 63 - 1, true), (1 << 63, false), (.max, false)] as [(UInt64, Bool)] {
      var chosen = trace(low, parentIsSampled: !expected)
      chosen.spanID = spanID
      #expect(half.samples(chosen, isIdentified: false) == expected)
      #expect(alone.samples(chosen, isIdentified: true) == expected)
      #expect(half.samples(chosen, isIdentified: true) == !expected)
    }
  }
}

@Test func `past its limit the buffer drops spans and counts them`() {
  let (buffer, registry) = (SpanBuffer(), MetricsRegistry())
  buffer.report(to: registry)
  let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true), buffer: buffer)
  for _ in 0..<SpanBuffer.spansMax + 2 { tracer.start(call: "/a.B/C", trace(1)).end() }
  #expect(registry.exposition().contains("latchkey_trace_spans_total{result=\"dropped\"} 2\n"))
  let taken = buffer.take(atMost: 10)
  buffer.exported(taken.count, succeeded: true)
  buffer.exported(3, succeeded: false)
  let text = registry.exposition()
  #expect(text.contains("{result=\"exported\"} 10\n") && text.contains("{result=\"failed\"} 3\n"))
  #expect(buffer.take(atMost: .max).count == SpanBuffer.spansMax - 10)
}

private struct Secret: Error, CustomStringConvertible {
  var description: String { "a secret" }
}

@Test func `work within a sampled call has a span below it, and an error is recorded without its text`() async throws {
  let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true))
  let call = tracer.start(call: "/a.B/C", trace(5, parentIsSampled: true))
  await #expect(throws: Secret.self) {
    try await ServiceContext.$current.withValue(call.context) {
      try await tracer.within("work", .internal, ["a": 1]) { _ in throw Secret() }
    }
  }
  call.end(.unavailable, requestID: "r")
  call.end(.ok, requestID: "twice")
  let spans = tracer.buffer.take(atMost: 10)
  #expect(spans.map(\.name) == ["work", "a.B/C"])
  #expect(spans[0].parentID == spans[1].identity.spanID && spans[1].parentID == 3)
  #expect(spans[0].identity.traceID == spans[1].identity.traceID && spans[1].identity.spanID == 7)
  #expect(spans.allSatisfy { $0.failure != nil } && !"\(spans)".contains("a secret"))
  #expect(spans[0].attributes.contains { $0.name == "error.type" && $0.value == .text("Secret") })
}

@Test func `work without a sampled call has no span`() async throws {
  let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true))
  let value = try await tracer.within("work", .internal, [:]) { span in span == nil ? 1 : 2 }
  #expect(value == 1 && tracer.buffer.take(atMost: 10).isEmpty)
  tracer.startSpan("work").end()
  #expect(tracer.buffer.take(atMost: 10).isEmpty)
}

@Test(arguments: [
  (GRPC.Status.Code.ok, false), (.unauthenticated, false), (.internal, true), (.deadlineExceeded, true),
])
func `a call is an error only if the server is at fault`(code: GRPC.Status.Code, isFault: Bool) throws {
  let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true))
  tracer.start(call: "/a.B/C", trace(1)).end(code, requestID: "r")
  let span = try #require(tracer.buffer.take(atMost: 1).first)
  #expect((span.failure != nil) == isFault)
  #expect(span.attributes.contains { $0.name == "rpc.grpc.status_code" && $0.value == .integer(Int64(code.rawValue)) })
}
