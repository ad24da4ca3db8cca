import Testing

@testable import GRPC

private func answer(
  _ fields: [(String, String)] = [(":status", "200"), ("content-type", "application/grpc")], _ body: [[UInt8]] = [],
  trailers: [(String, String)] = [("grpc-status", "0")], limit: Int = 64
) -> (Answer, fault: Status?) {
  var reader = AnswerReader(messageBytesMax: limit)
  for (name, value) in fields { reader.field(bytes(name), bytes(value)) }
  var fault: Status?
  for piece in body where fault == nil { fault = reader.received(piece) }
  for (name, value) in trailers { reader.field(bytes(name), bytes(value)) }
  return (reader.finish(), fault)
}

@Test func `an answer is its one message, however its bytes were split`() {
  let frame = framed([1, 2, 3])
  for cut in 0...frame.count {
    let (answer, fault) = answer(answerFields, [Array(frame[..<cut]), Array(frame[cut...])])
    #expect(fault == nil)
    #expect(answer.status == Status(.ok))
    #expect(answer.message?.content == [1, 2, 3])
  }
}

private let answerFields = [(":status", "200"), ("content-type", "application/grpc+proto")]

@Test func `an answer without a message, or with two, is UNIMPLEMENTED, as in the status document`() {
  #expect(answer(answerFields, []).0.status.code == .unimplemented)
  #expect(answer(answerFields, [framed([1]), framed([2])]).fault?.code == .unimplemented)
  #expect(answer(answerFields, [framed([1]) + framed([2])]).fault?.code == .unimplemented)
}

@Test func `an answer that ends inside a message is INTERNAL, as is one that is compressed`() {
  #expect(answer(answerFields, [Array(framed([1, 2]).dropLast())]).0.status.code == .internal)
  #expect(answer(answerFields, [framed([1], flag: 1)]).fault?.code == .internal)
}

@Test func `a message length is checked in the frame head: the limit is accepted, and one byte more is rejected`() {
  #expect(answer(answerFields, [framed([UInt8](repeating: 0, count: 64))]).0.status.code == .ok)
  #expect(answer(answerFields, [frameHead(0, 65)]).fault?.code == .resourceExhausted)
}

@Test func `grpc-status is read from a single head or trailers, and overrides the HTTP status`() {
  #expect(answer([(":status", "200"), ("grpc-status", "12")], trailers: []).0.status.code == .unimplemented)
  #expect(answer([(":status", "405"), ("grpc-status", "13")], trailers: []).0.status.code == .internal)
  #expect(answer(answerFields, [framed([])], trailers: [("grpc-status", "7")]).0.status.code == .permissionDenied)
}

@Test(arguments: ["17", "-1", "x", "", "00000000000000000000000"])
func `a grpc-status that is not a code is UNKNOWN`(code: String) {
  let expected = code.contains("00") ? Status.Code.ok : .unknown
  let seen = answer(answerFields, [framed([1])], trailers: [("grpc-status", code)]).0.status.code
  #expect(seen == expected)
}

@Test(arguments: [
  (200, Status.Code.unknown), (400, .internal), (401, .unauthenticated), (403, .permissionDenied),
  (404, .unimplemented), (429, .unavailable), (431, .internal), (500, .unknown), (502, .unavailable),
  (503, .unavailable), (504, .unavailable), (0, .unknown),
])
func `an HTTP status maps to a gRPC status if grpc-status is missing`(http: Int, code: Status.Code) {
  #expect(answer([(":status", String(http))], trailers: []).0.status.code == code)
}

@Test(arguments: [
  (0, Status.Code.internal), (1, .internal), (2, .internal), (3, .internal), (4, .internal), (5, .internal),
  (6, .internal), (7, .unavailable), (8, .cancelled), (9, .internal), (10, .internal), (11, .resourceExhausted),
  (12, .permissionDenied), (13, .unknown), (.max, .unknown),
] as [(UInt32, Status.Code)])
func `the codes of RST_STREAM map to statuses`(reset: UInt32, code: Status.Code) {
  #expect(Status.Code(resetCode: reset) == code)
}

@Test(arguments: ["", "plain", "100%", "tab\tline\r\n", "Ünïcödé 😀", "%41%"])
func `a percent-encoded message is decoded`(text: String) {
  #expect(Status.percentDecoded(Status.percentEncoded(text)) == text)
}

@Test(arguments: [("%4", "%4"), ("%zz", "%zz"), ("a%", "a%"), ("%41b%c3%bc", "Abü"), ("%ff", "\u{FFFD}")])
func `a message with wrong escapes is still read`(encoded: String, text: String) {
  #expect(Status.percentDecoded(bytes(encoded)) == text)
}

@Test func `an error has details and a push-back; an unreadable push-back means no retry`() {
  let trailers = [
    ("grpc-status", "8"), ("grpc-message", "too%20much"), ("grpc-status-details-bin", "AQID"),
    ("grpc-retry-pushback-ms", "250"),
  ]
  let status = answer(answerFields, trailers: trailers).0.status
  #expect(status == Status(.resourceExhausted, "too much", details: [1, 2, 3], pushbackMillis: 250))
  let never = answer(answerFields, trailers: [("grpc-status", "8"), ("grpc-retry-pushback-ms", "soon")]).0.status
  #expect(never.pushbackMillis == -1)
}

@Test(arguments: [
  (-5, "0m"), (0, "0m"), (1, "1m"), (99_999_999, "99999999m"), (100_000_000, "100000S"), (100_000_001, "100001S"),
  (99_999_999_000, "99999999S"), (99_999_999_001, "1666667M"), (Int64.max, "99999999H"),
])
func `a deadline is written in eight digits at most, and never as an earlier one`(millis: Int64, text: String) throws {
  #expect(Timeout.text(millis) == text)
  let written = bytes(text)
  let read = Timeout.millis(written.span)
  let told = try #require(read)
  #expect(told >= min(millis, 99_999_999 * 3_600_000))
}

@Test func `a request has the fields that the server requires`() {
  var reader = HeadReader()
  let list = RequestFields.list(
    path: "/a.B/C", authority: "localhost:1", userAgent: "test", timeoutMillis: 250, metadata: [("authorization", "x")])
  for field in list { reader.field(bytes(field.name), field.value) }
  guard case .success(let head) = reader.finish() else { return #expect(Bool(false), "refused") }
  #expect(head.path == bytes("/a.B/C"))
  #expect(head.timeoutMillis == 250)
  #expect(head.authorization == bytes("x"))
}

@Test func `each message of a streaming answer is delivered once, and there may be any number`() {
  for messages in [[], [[1]], [[1], [2, 3], []]] as [[[UInt8]]] {
    var reader = AnswerReader(messageBytesMax: 64, streams: true)
    for (name, value) in answerFields { reader.field(bytes(name), bytes(value)) }
    var taken: [[UInt8]] = []
    for piece in messages.map({ framed($0) }) {
      #expect(reader.received(piece) == nil)
      taken += reader.takeMessages().map(\.content)
    }
    reader.field(bytes("grpc-status"), bytes("0"))
    #expect(taken == messages && reader.takeMessages().isEmpty && reader.finish().status == Status(.ok))
  }
}
