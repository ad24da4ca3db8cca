import Testing

@testable import HTTP2

private let noError = ErrorCode.noError.rawValue
/// RFC 9113 6.5.2.
private let initialWindow: UInt8 = 4

@Test func `A1: an answer is HEADERS, DATA, and trailers that end the stream`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  peer.session.respond(stream, head: head, body: [1, 2, 3], trailers: trailers)
  let frames = peer.drain()
  #expect(frames.map(\.kind) == [.headers, .data, .headers])
  #expect(frames.map(\.endsStream) == [false, false, true])
  #expect(frames.map(\.stream) == [1, 1, 1])
  // RFC 7541: 8 is `:status: 200` of the static table.
  #expect(frames[0].payload.first == 0x88)
  #expect(frames[1].payload == [1, 2, 3])
  #expect(stream.closedWith == .noError)
}

@Test func `A2: an immediate failure is one header block that ends the stream`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  let frames = peer.drain()
  #expect(frames.map(\.kind) == [.headers])
  #expect(frames[0].endsStream)
  #expect(stream.isClosed)
}

@Test func `a stream is answered once: nothing after the first answer is sent`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  peer.session.start(stream, head)
  #expect(peer.drain().map(\.kind) == [.headers])
}

@Test func `a large answer is sent in frames as far as the client's window allows, and completely in the end`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
  peer.session.respond(stream, head: head, body: body, trailers: trailers)
  let first = peer.drain().filter { $0.kind == .data }
  #expect(first.reduce(0) { $0 + $1.payload.count } == 65_535)
  #expect(stream.unsentBytes == 100_000 - 65_535)
  #expect(peer.drain() == [], "nothing is sent while the window is closed")
  let rest = peer.ask(.windowUpdate(0, 100_000), .windowUpdate(1, 100_000))
  #expect((first + rest).filter { $0.kind == .data }.flatMap(\.payload) == body)
  #expect(rest.last?.kind == .headers && rest.last?.endsStream == true)
  #expect(stream.unsentBytes == 0)
}

@Test func `a drain stops at the first frame past its bytes, and continues there`() {
  let peer = Peer()
  for id in [1, 3, 5] as [Int32] { peer.session.respondTrailersOnly(peer.open(id, end: true), trailersOnly) }
  var streams: [Int32] = []
  for _ in 0..<3 {
    let frames = peer.drain(bytesMax: 1)
    #expect(frames.count == 1)
    streams += frames.map(\.stream)
  }
  #expect(streams == [1, 3, 5])
  #expect(peer.drain() == [])
}

// MARK: Answered before the client has ended

@Test func `A6: a call answered early is reset with NO_ERROR, after its trailers`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.session.respond(stream, head: head, body: [1], trailers: trailers)
  let frames = peer.drain()
  #expect(frames.map(\.kind) == [.headers, .data, .headers, .reset])
  #expect(frames.last == .reset(1, noError))
  #expect(stream.closedWith == .noError)
}

@Test func `A6: a refusal in one header block is followed by the reset too`() {
  let peer = Peer()
  peer.session.respondTrailersOnly(peer.open(1), trailersOnly)
  #expect(peer.drain().map(\.kind) == [.headers, .reset])
}

@Test func `A6: no reset is sent before the trailers, however little is drained at a time`() {
  let peer = Peer()
  peer.session.respond(peer.open(1), head: head, body: [1], trailers: trailers)
  let kinds = (0..<4).flatMap { _ in peer.drain(bytesMax: 1).map(\.kind) }
  #expect(kinds == [.headers, .data, .headers, .reset])
  #expect(peer.drain() == [])
}

@Test func `A6: no reset is sent while a client's window blocks the answer`() {
  let peer = Peer(settings: [(initialWindow, 10)])
  peer.session.respond(peer.open(1), head: head, body: [UInt8](repeating: 0, count: 15), trailers: trailers)
  #expect(peer.drain().map(\.kind) == [.headers, .data])
  #expect(peer.ask(.windowUpdate(1, 10)).map(\.kind) == [.data, .headers, .reset])
}

@Test func `A6: a client that ends in time is not reset`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.session.respondTrailersOnly(stream, trailersOnly)
  #expect(peer.drain(bytesMax: 1).map(\.kind) == [.headers])
  #expect(peer.ask(.data(1, end: true)) == [])
  #expect(stream.closedWith == .noError)
  #expect(!peer.session.wantsToWrite)
}

@Test func `nothing more is sent for a call that was reset`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.session.start(stream, head)
  peer.session.send(stream, [1, 2])
  peer.session.reset(stream, .internalError)
  #expect(peer.drain() == [.reset(1, ErrorCode.internalError.rawValue)])
  #expect(stream.closedWith == .internalError)
}

@Test func `a reset replaces an answer whose header block is too large to send`() {
  let peer = Peer()
  let stream = peer.open(1, end: true)
  let message = [UInt8](repeating: UInt8(ascii: "x"), count: 70_000)
  peer.session.respondTrailersOnly(stream, PreparedHeaders([(":status", Array("200".utf8)), ("grpc-message", message)]))
  #expect(peer.drain() == [.reset(1, ErrorCode.internalError.rawValue)])
  #expect(stream.closedWith == .internalError)
}

// MARK: Streaming

@Test func `messages of a stream are sent immediately, and nothing is sent between them`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.session.start(stream, head)
  #expect(peer.drain().map(\.kind) == [.headers])
  #expect(!peer.session.wantsToWrite)
  for message in [[1], [2, 3], [4]] as [[UInt8]] {
    peer.session.send(stream, message)
    #expect(peer.session.wantsToWrite)
    #expect(peer.drain() == [.data(1, message)])
    #expect(!peer.session.wantsToWrite)
  }
  peer.send(.data(1, end: true))
  peer.session.finish(stream, trailers)
  let last = peer.drain()
  #expect(last.last?.kind == .headers && last.last?.endsStream == true)
  #expect(!last.contains { !$0.payload.isEmpty && $0.kind == .data })
  #expect(stream.isClosed)
}

@Test func `a stream may end without a message, or with its last one`() {
  let peer = Peer()
  let empty = peer.open(1, end: true)
  peer.session.start(empty, head)
  peer.session.finish(empty, trailers)
  #expect(peer.drain().filter { $0.kind == .headers }.map(\.endsStream) == [false, true])
  let short = peer.open(3, end: true)
  peer.session.start(short, head)
  peer.session.send(short, [1])
  peer.session.finish(short, trailers)
  #expect(peer.drain().map(\.kind) == [.headers, .data, .headers])
}

@Test func `messages wait for the client's window in order, and are counted while they wait`() {
  let peer = Peer(settings: [(initialWindow, 3)])
  let stream = peer.open(1, end: true)
  peer.session.start(stream, head)
  peer.session.send(stream, [1, 2])
  peer.session.send(stream, [3, 4])
  #expect(peer.drain().filter { $0.kind == .data }.flatMap(\.payload) == [1, 2, 3])
  peer.session.send(stream, [5])
  #expect(stream.unsentBytes == 2)
  #expect(peer.drain() == [])
  #expect(peer.ask(.windowUpdate(1, 9)).flatMap(\.payload) == [4, 5])
  #expect(stream.unsentBytes == 0)
}

@Test func `a client that always leaves one byte unread gets every message, in order`() {
  let peer = Peer(settings: [(initialWindow, 9)])
  let stream = peer.open(1, end: true)
  peer.session.start(stream, head)
  peer.session.send(stream, [UInt8](repeating: 0, count: 10))
  var frames = peer.drain()
  for number in 1..<100 as Range<UInt8> {
    peer.session.send(stream, [UInt8](repeating: number, count: 10))
    frames += peer.ask(.windowUpdate(1, 10))
    #expect(stream.unsentBytes == 1)
  }
  let all = (0..<100 as Range<UInt8>).flatMap { [UInt8](repeating: $0, count: 10) }
  #expect(frames.filter { $0.kind == .data }.flatMap(\.payload) == Array(all.dropLast()))
}

@Test func `nothing more is sent or queued on a stream that was reset`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.session.start(stream, head)
  peer.session.reset(stream, .cancel)
  peer.session.send(stream, [1, 2])
  #expect(stream.unsentBytes == 0 && peer.sink.unsentBytes == 0)
  #expect(peer.drain() == [.reset(1, ErrorCode.cancel.rawValue)])
}

@Test func `a stream whose client reads nothing does not block other streams`() {
  let peer = Peer(settings: [(initialWindow, 5)])
  peer.session.respond(peer.open(1, end: true), head: head, body: [1, 2, 3, 4, 5, 6], trailers: trailers)
  peer.session.respond(peer.open(3, end: true), head: head, body: [7], trailers: trailers)
  let frames = peer.drain()
  #expect(frames.filter(\.endsStream).map(\.stream) == [3])
}

@Test func `sent answers are recorded, since they reset the ping strikes`() {
  let peer = Peer()
  _ = peer.ask(.ping())
  #expect(!peer.sink.events.sentReply, "the echo of a ping is no answer")
  let stream = peer.open(1)
  peer.session.start(stream, head)
  _ = peer.drain()
  #expect(peer.sink.events.sentReply)
  peer.sink.events.sentReply = false
  peer.session.send(stream, [1])
  _ = peer.drain()
  #expect(peer.sink.events.sentReply)
}
