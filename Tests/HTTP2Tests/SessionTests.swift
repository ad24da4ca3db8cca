import Testing

@testable import HTTP2

@Test func `the server first sends SETTINGS with every limit, then the connection's window`() throws {
  var limits = SessionLimits()
  limits.streamsMax = 70_000
  let session = try #require(Session(limits, nowMillis: 0))
  #expect(session.wantsToWrite)
  var bytes: [UInt8] = []
  #expect(session.drain(into: &bytes, bytesMax: .max))
  let frames = Frame.parse(bytes)
  #expect(
    frames == [
      .settings([(3, 70_000), (4, 65_536), (6, 16_384), (8, 0)]), .windowUpdate(0, 1_048_576 - 65_535),
    ])
  #expect(!session.wantsToWrite)
}

@Test func `bytes that are not HTTP/2 end the connection`() throws {
  let session = try #require(Session(SessionLimits(), nowMillis: 0))
  let bytes = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
  let isAlive = unsafe bytes.withUnsafeBytes { unsafe session.feed($0, nowMillis: 0) }
  #expect(!isAlive)
}

@Test func `a request is reported with its fields in order, its body and its end`() throws {
  let peer = Peer()
  peer.send(.headers(1, Frame.request + [("x", "1"), ("x", "2"), ("blank", "3 4")]))
  let stream = try #require(peer.sink.takeTouched().first)
  #expect(stream.id == 1)
  #expect(stream.headersComplete && !stream.ended)
  #expect(
    stream.headers.text == [
      ":method: POST", ":scheme: https", ":path: /a.B/C", ":authority: localhost", "te: trailers", "x: 1", "x: 2",
      "blank: 3 4",
    ])
  peer.send(.data(1, [1, 2]), .data(1, [3], end: true))
  #expect(stream.ended)
  #expect(stream.takeBody() == [1, 2, 3])
  #expect(stream.takeBody() == [])
}

@Test func `R18: the session reads the same frames however the bytes were split`() throws {
  let peer = Peer()
  let frames = Frame.headers(1).bytes + Frame.data(1, [1, 2, 3]).bytes + Frame.data(1, [4], end: true).bytes
  for byte in frames { #expect(peer.feed([byte]) == true) }
  let stream = try #require(peer.sink.stream(1))
  #expect(stream.headers.count == Frame.request.count)
  #expect(stream.ended)
  #expect(stream.takeBody() == [1, 2, 3, 4])
}

@Test(arguments: [1, 10_000])
func `a header block may have eight CONTINUATIONs, however they arrive, and no more`(pieceBytes: Int) throws {
  for count in [8, 9] {
    let block = Frame.headers(1).payload
    var frames = Frame(kind: .headers, flags: Frame.endStream, stream: 1, payload: Array(block.prefix(40))).bytes
    for part in 1...count {
      let payload = part == count ? Array(block.dropFirst(40)) : []
      let flags = part == count ? Frame.endHeaders : 0
      frames += Frame(kind: .continuation, flags: flags, stream: 1, payload: payload).bytes
    }
    let peer = Peer()
    for start in stride(from: 0, to: frames.count, by: pieceBytes) {
      #expect(peer.feed(Array(frames[start..<min(frames.count, start + pieceBytes)])))
    }
    let farewell = peer.drain().first { $0.kind == .goAway }
    #expect((farewell == nil) == (count == 8))
    #expect(count == 9 || peer.sink.stream(1)?.headers.count == Frame.request.count)
    #expect(farewell.map { $0.number(at: 4) } == (count == 8 ? nil : ErrorCode.enhanceYourCalm.rawValue))
  }
}

@Test func `R21: the end may arrive on HEADERS, on the last DATA or as empty DATA`() {
  let peer = Peer()
  #expect(peer.open(1, end: true).ended)
  let second = peer.open(3)
  peer.send(.data(3, [1], end: true))
  #expect(second.ended)
  let third = peer.open(5)
  peer.send(.data(5, [1]))
  #expect(!third.ended)
  peer.send(.data(5, end: true))
  #expect(third.ended)
}

@Test func `R22: trailers of a request end it and are ignored`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.send(.data(1, [1]), .headers(1, [("grpc-timeout", "1S")], end: true))
  #expect(stream.ended)
  #expect(stream.headers.count == Frame.request.count)
}

@Test func `DATA on a skipped stream ends the connection, also together with the skipping frame`() {
  for isAtOnce in [true, false] {
    let peer = Peer()
    let frames: [Frame] = [.headers(7), .data(1, [0, 0, 0, 0, 0])]
    if isAtOnce { _ = peer.feed(frames.flatMap(\.bytes)) } else { for frame in frames { peer.send(frame) } }
    #expect(peer.drain().first { $0.kind == .goAway }?.number(at: 4) == 5)
  }
}

@Test func `RFC 9113 5.1.1: a skipped stream id ends the connection, and an open stream may still end`() {
  let peer = Peer()
  let first = peer.open(1)
  _ = peer.open(7)
  #expect(peer.ask(.headers(1, [("x", "1")], end: true)) == [])
  #expect(first.ended)
  let farewell = peer.ask(.headers(5)).first { $0.kind == .goAway }
  #expect(farewell?.number(at: 4) == ErrorCode.protocolError.rawValue)
  #expect(peer.session.isOver)
}

@Test func `a stream with several events is listed once, and again after the next event`() {
  let peer = Peer()
  peer.send(.headers(3), .headers(5), .data(3, [1]), .data(5, [1]), .data(3, [2]))
  #expect(peer.sink.takeTouched().map(\.id) == [3, 5])
  #expect(peer.sink.takeTouched().isEmpty)
  peer.send(.data(5, [2]))
  #expect(peer.sink.takeTouched().map(\.id) == [5])
}

@Test func `A8: a client's reset closes the stream with its code`() {
  let peer = Peer()
  let stream = peer.open(1)
  _ = peer.sink.takeTouched()
  peer.send(.reset(1, ErrorCode.cancel.rawValue))
  #expect(stream.closedWith == .cancel)
  #expect(peer.sink.takeTouched().map(\.id) == [1])
  #expect(peer.sink.streamCount == 0)
  #expect(peer.sink.stream(1) == nil)
}

@Test func `a closed stream is released, and so are all streams of a session that ends`() {
  weak var closed: Stream?
  weak var open: Stream?
  weak var sink: Sink?
  do {
    let peer = Peer()
    closed = peer.open(1)
    open = peer.open(3)
    sink = peer.sink
    if let open { peer.session.respond(open, head: head, body: [1], trailers: trailers) }
    _ = peer.sink.takeTouched()
    peer.send(.reset(1))
    #expect(closed != nil && open != nil)
    _ = peer.sink.takeTouched()
    #expect(closed == nil && open != nil)
  }
  #expect(open == nil)
  #expect(sink == nil)
}

@Test func `frames for a closed stream are dropped`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.send(.reset(1))
  peer.session.respond(stream, head: head, body: [1], trailers: trailers)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  peer.session.send(stream, [1])
  peer.session.finish(stream, trailers)
  peer.session.reset(stream, .cancel)
  #expect(peer.drain() == [])
  #expect(peer.ask(.ping()) == [.ping(ack: true)], "the connection is unharmed")
}

// MARK: Streams past the limit

@Test func `A9: a stream past the limit is refused, and the connection and its streams live`() throws {
  let peer = Peer()
  for index in 0..<100 as Range<Int32> { _ = peer.open(1 + 2 * index) }
  #expect(peer.drain() == [])
  #expect(peer.ask(.headers(201)) == [.reset(201, ErrorCode.refusedStream.rawValue)])
  #expect(peer.sink.stream(201) == nil)
  #expect(peer.sink.streamCount == 100)
  let first = try #require(peer.sink.stream(1))
  peer.session.respondTrailersOnly(first, trailersOnly)
  #expect(peer.drain().map(\.kind) == [.headers, .reset])
  #expect(peer.open(203).headersComplete, "a place is free again")
}

@Test func `A9: DATA on a refused stream does not use up the connection's window`() {
  let peer = Peer { $0.streamsMax = 1 }
  _ = peer.open(1)
  let refused = stride(from: 3, through: 21, by: 2).map { Int32($0) }
  var frames: [Frame] = []
  for id in refused {
    peer.send(.headers(id))
    peer.pour(60_000, into: id)
    frames += peer.drain()
  }
  #expect(peer.sink.takeTouched().map(\.id) == [1])
  #expect(frames.filter { $0.kind == .reset } == refused.map { .reset($0, ErrorCode.refusedStream.rawValue) })
  #expect(frames.contains { $0.kind == .windowUpdate && $0.stream == 0 })
  #expect(!frames.contains { $0.kind == .goAway })
}

@Test func `A9: streams refused before the client has seen the SETTINGS do not count as abuse`() {
  let peer = Peer(acknowledges: false)
  for index in 0..<100 as Range<Int32> { _ = peer.open(1 + 2 * index) }
  for index in 100..<400 as Range<Int32> {
    #expect(peer.ask(.headers(1 + 2 * index)) == [.reset(1 + 2 * index, ErrorCode.refusedStream.rawValue)])
  }
  #expect(peer.sink.streamCount == 100)
}

@Test func `frames that a client does not read are counted until it does`() {
  let peer = Peer(acknowledges: false)
  for index in 0..<400 as Range<Int32> { peer.send(.headers(1 + 2 * index)) }
  #expect(peer.session.queuedFrames == 300)
  #expect(peer.drain().count == 300)
  #expect(peer.session.queuedFrames == 0)
}

@Test func `A9: a client that knows the limit and keeps exceeding it gets ENHANCE_YOUR_CALM`() throws {
  let peer = Peer()
  for index in 0..<150 as Range<Int32> { peer.send(.headers(1 + 2 * index)) }
  #expect(!peer.drain().contains { $0.kind == .goAway })
  let farewell = try #require(peer.ask(.headers(301)).first { $0.kind == .goAway })
  #expect(farewell.number(at: 4) == ErrorCode.enhanceYourCalm.rawValue)
  #expect(Array(farewell.payload[8...]) == Array("too_many_stream_errors".utf8))
  #expect(peer.session.isOver)
}

// MARK: Header lists

/// Fields whose list has this many bytes (RFC 9113 6.5.2: name + value + 32 each).
private func fields(listBytes: Int) -> [(String, String)] {
  let used = Frame.request.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
  return Frame.request + [("x", String(repeating: "y", count: listBytes - used - 33))]
}

@Test func `R11: a header list of the limit is accepted, one byte more is not, and the connection stays`() throws {
  let peer = Peer()
  peer.send(.headers(1, fields(listBytes: 16_384)))
  let edge = try #require(peer.sink.stream(1))
  #expect(!edge.headersTooLarge)
  #expect(edge.headers.count == 6)
  peer.send(.headers(3, fields(listBytes: 16_385)))
  let past = try #require(peer.sink.stream(3))
  #expect(past.headersComplete && past.headersTooLarge)
  #expect(past.headers.count == 0, "headers that are too large are not kept")
  #expect(peer.drain() == [])
  #expect(!peer.open(5).headersTooLarge)
}

@Test func `R11: the maximum of fields is accepted, one more is not, and the connection stays`() throws {
  let peer = Peer()
  let more = (0..<60).map { ("x\($0)", "") }
  peer.send(.headers(1, Frame.request + more[..<59]), .headers(3, Frame.request + more))
  let edge = try #require(peer.sink.stream(1))
  #expect(!edge.headersTooLarge)
  #expect(edge.headers.count == 64)
  let past = try #require(peer.sink.stream(3))
  #expect(past.headersTooLarge)
  #expect(past.headers.count == 0)
  #expect(!peer.open(5).headersTooLarge)
}

@Test func `R11: a list that is too large stays too large when small fields follow`() throws {
  let peer = Peer()
  peer.send(.headers(1, fields(listBytes: 16_385) + [("a", "b")]))
  let stream = try #require(peer.sink.stream(1))
  #expect(stream.headersTooLarge)
  #expect(stream.headers.count == 0)
}

// MARK: The connection

@Test func `A11: a PING is echoed and counted; an answer to a keepalive of ours is no event`() {
  let peer = Peer()
  #expect(peer.ask(.ping([8, 7, 6, 5, 4, 3, 2, 1])) == [.ping([8, 7, 6, 5, 4, 3, 2, 1], ack: true)])
  #expect(peer.sink.events.pingsReceived == 1)
  peer.session.ping()
  #expect(peer.drain() == [.ping([UInt8](repeating: 0, count: 8))])
  peer.send(.ping([UInt8](repeating: 0, count: 8), ack: true))
  #expect(peer.sink.events.pingsReceived == 1)
  #expect(!peer.sink.events.noticeAnswered)
}

@Test func `A10: only the answer to the PING after the first GOAWAY is the answer to that GOAWAY`() {
  let peer = Peer()
  peer.session.ping()
  let keepalive = peer.drain()[0]
  peer.session.announceShutdown()
  let notice = peer.drain()[1]
  #expect(notice.kind == .ping && notice.payload != keepalive.payload)
  peer.send(.ping(keepalive.payload, ack: true), .ping(ack: true), .ping(notice.payload))
  #expect(!peer.sink.events.noticeAnswered, "a late answer, an answer to nothing, and a PING of the client")
  peer.send(.ping(notice.payload, ack: true))
  #expect(peer.sink.events.noticeAnswered)
}

@Test func `A10: a shutdown sends GOAWAY twice, and a call that crosses the first is served`() throws {
  let peer = Peer()
  let early = peer.open(1, end: true)
  peer.session.announceShutdown()
  let notice = peer.drain()
  #expect(notice.map(\.kind) == [.goAway, .ping])
  #expect(notice[0].number() == UInt32(Int32.max))
  #expect(notice[0].number(at: 4) == ErrorCode.noError.rawValue)
  let crossing = peer.open(3, end: true)
  peer.send(.ping(notice[1].payload, ack: true))
  #expect(peer.sink.events.noticeAnswered)
  peer.session.shutDown(.age)
  let last = peer.drain()
  #expect(last.map(\.kind) == [.goAway])
  #expect(last[0].number() == 3)
  #expect(Array(last[0].payload[8...]) == Array("max_age".utf8))
  peer.send(.headers(5, end: true))
  #expect(peer.sink.stream(5) == nil, "later streams are ignored, and safe to retry elsewhere")
  for stream in [early, crossing] {
    #expect(!peer.session.isOver)
    peer.session.respond(stream, head: head, body: [1], trailers: trailers)
    #expect(peer.drain().map(\.kind) == [.headers, .data, .headers])
  }
  #expect(peer.session.isOver)
}

@Test func `a client's GOAWAY ends the connection after its last stream`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  peer.send(Frame(kind: .goAway, payload: big(0) + big(0)))
  #expect(!peer.session.isOver)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  #expect(peer.drain().map(\.kind) == [.headers])
  #expect(peer.session.isOver)
}

@Test func `a fault is sent with its code and text, and ends the connection once it is written`() {
  let peer = Peer()
  _ = peer.open(1)
  peer.session.terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))
  #expect(!peer.session.isOver)
  let frames = peer.drain().filter { $0.kind == .goAway }
  #expect(frames.map(\.payload) == [big(1) + big(11) + Array("too_many_pings".utf8)])
  #expect(peer.session.isOver)
}

@Test func `a connection with two faults sends one GOAWAY, the first`() {
  let peer = Peer()
  // HEADERS on stream 0 end the connection inside nghttp2, without a callback.
  peer.send(.headers(0))
  peer.session.terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))
  let frames = peer.drain().filter { $0.kind == .goAway }
  #expect(frames.count == 1)
  #expect(frames.first?.number(at: 4) == 1)
  #expect(peer.session.isOver)
}

@Test func `nothing is served that follows a fault`() {
  let peer = Peer()
  peer.session.terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))
  peer.send(.headers(1, end: true), .ping())
  #expect(peer.sink.stream(1) == nil)
  #expect(peer.drain().map(\.kind) == [.goAway])
}

@Test func `a drain that was announced before a fault adds no GOAWAY to the fault's`() {
  let peer = Peer()
  _ = peer.open(1)
  peer.session.terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))
  peer.session.announceShutdown()
  peer.session.shutDown(.drain)
  let frames = peer.drain().filter { $0.kind == .goAway }
  #expect(frames.map { $0.number(at: 4) } == [11])
}

// MARK: RFC 9113 8.2.1

private let malformed: [(String, String)] = [
  ("", "a"), ("X-Note", "a"), ("x-notE", "a"), ("x note", "a"), (" x-note", "a"), ("x-note ", "a"), ("x:note", "a"),
  ("x\u{0}note", "a"), ("x\rnote", "a"), ("x\nnote", "a"), ("x\tnote", "a"), ("x\u{7f}note", "a"), ("x\u{e9}", "a"),
  ("x-note", "a\u{0}b"), ("x-note", "a\rb"), ("x-note", "a\nb"), ("x-note", "a\r\n b"), ("x-note", "\u{0}"),
  ("x-note", " a"), ("x-note", "a "), ("x-note", "\ta"), ("x-note", "a\t"), ("x-note", " "),
  ("authorization", "Bearer lk_web\n"), ("authorization", "Bearer lk_web "), ("authorization", "\rBearer lk_web"),
]

@Test(arguments: malformed.indices)
func `a malformed field is a stream error in the head of a request`(index: Int) {
  let peer = Peer()
  let frames = peer.ask(.headers(1, Frame.request + [malformed[index]], end: true))
  #expect(frames.map(\.kind) == [.reset] && frames.first?.number() == 1, "\(malformed[index])")
  #expect(peer.sink.takeTouched().allSatisfy { !$0.headersComplete }, "it is not served")
  #expect(peer.open(3).headersComplete, "the connection goes on")
}

@Test(arguments: malformed.indices)
func `a malformed field is a stream error in trailers`(index: Int) {
  let peer = Peer()
  _ = peer.open(1)
  let frames = peer.ask(.headers(1, [malformed[index]], end: true))
  #expect(frames.map(\.kind) == [.reset] && frames.first?.number() == 1, "\(malformed[index])")
  #expect(peer.open(3).headersComplete)
}

@Test(arguments: malformed.indices)
func `a malformed field is a stream error in CONTINUATION`(index: Int) {
  let peer = Peer()
  var first = Frame.headers(1, Frame.request)
  var second = Frame.headers(1, [malformed[index]])
  first.flags = 0
  second.kind = .continuation
  let frames = peer.ask(first, second)
  #expect(frames.map(\.kind) == [.reset] && frames.first?.number() == 1, "\(malformed[index])")
  #expect(peer.open(3).headersComplete)
}

@Test(arguments: ["", "a", "a b", "a\tb", "~!@#$%^&*()", "caf\u{e9}"])
func `a well-formed field value is accepted`(value: String) {
  let peer = Peer()
  peer.send(.headers(1, Frame.request + [("x-note", value)], end: true))
  #expect(peer.sink.stream(1)?.headersComplete == true)
}
