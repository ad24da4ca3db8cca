import Testing

@testable import GRPC

private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
private let span = "00f067aa0ba902b7"

private func parent(_ text: String) -> TraceParent? { TraceParent(bytes(text).span) }

@Test func `traceparent of version 00 is read, with its sampled flag`() throws {
  let sampled = try #require(parent("00-\(trace)-\(span)-01"))
  #expect(sampled.traceID == TraceID(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736))
  #expect(sampled.traceID.text == trace)
  #expect(sampled.spanID == 0x00f0_67aa_0ba9_02b7 && sampled.isSampled)
  #expect(parent("00-\(trace)-\(span)-00")?.isSampled == false)
  // Other flags may be set by a later version.
  #expect(parent("00-\(trace)-\(span)-fe")?.isSampled == false)
  #expect(parent("00-\(trace)-\(span)-ff")?.isSampled == true)
}

@Test(arguments: [
  "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-extra",
  "00-\(trace)-\(span)-0g", "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01",
  "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
  "ff-\(trace)-\(span)-01", "0-\(trace)-\(span)-01a", " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ",
  "00-4BF92F3577B34DA6A3CE929D0E0E4736-\(span)-01", "0x-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01.extra",
])
func `an invalid traceparent begins a new trace`(text: String) throws {
  #expect(parent(text) == nil)
  let head = try #require(Fields.usual.with("traceparent", text).head)
  #expect(head.traceParent == nil)
}

@Test func `of a later version, the first four fields are read`() {
  for text in ["01-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-extra", "fe-\(trace)-\(span)-01-"] {
    #expect(parent(text)?.traceID.text == trace, "\(text)")
  }
}

@Test func `two traceparent fields are invalid`() throws {
  let one = Fields.usual.adding("traceparent", "00-\(trace)-\(span)-01")
  #expect(try #require(one.head).traceParent != nil)
  #expect(try #require(one.adding("traceparent", "00-\(trace)-\(span)-01").head).traceParent == nil)
}

@Test(arguments: [
  ("a", true), ("7b5b5a9e-1f0c-4d9d-8a4e-5d9e3f6e2f11", true), ("A/b+c=_.:@", true), ("", false), ("a b", false),
  ("a\"", false), ("é", false), ("a\n", false), (String(repeating: "x", count: 128), true),
  (String(repeating: "x", count: 129), false),
])
func `a request ID is kept up to 128 characters of a closed set, and replaced otherwise`(
  text: String, isKept: Bool
) throws {
  let head = try #require(Fields.usual.with("x-request-id", text).head)
  var maker = CallTraceMaker(seed: 1)
  let trace = maker.make(head)
  #expect((trace.requestID == text) == isKept)
  var bytes = [UInt8](repeating: 0, count: RequestID.bytesMax)
  var room = bytes.mutableSpan
  let written = trace.writeRequestID(to: &room)
  #expect(String(decoding: bytes[..<written], as: UTF8.self) == trace.requestID)
  #expect(trace.hasOwnTraceID == isKept)
}

@Test func `a call without IDs has one new ID as request ID and trace ID, and a new span`() throws {
  let head = try #require(Fields.usual.head)
  var maker = CallTraceMaker(seed: 1)
  let (one, two) = (maker.make(head), maker.make(head))
  #expect(one.requestID == one.traceID.text && !one.hasOwnTraceID && one.requestID.utf8.count == 32)
  #expect(one.requestID != two.requestID && one.spanID != two.spanID && one.parent == nil)
}

@Test func `a call within a trace has the trace's ID, and a request ID of its own`() throws {
  let head = try #require(Fields.usual.with("traceparent", "00-\(trace)-\(span)-01").head)
  var maker = CallTraceMaker(seed: 1)
  let (one, two) = (maker.make(head), maker.make(head))
  #expect(one.traceID.text == trace && two.traceID.text == trace && one.parent?.spanID == 0x00f0_67aa_0ba9_02b7)
  #expect(one.requestID != two.requestID && one.hasOwnTraceID)
}

@Test func `made IDs do not repeat`() {
  var maker = CallTraceMaker()
  var seen: Set<UInt64> = []
  for _ in 0..<10_000 { seen.insert(maker.next()) }
  #expect(seen.count == 10_000 && !seen.contains(0))
}
