import Testing

@testable import HTTP2

private let flowControlError: UInt32 = 3

private func windowUpdates(_ frames: [Frame], _ stream: Int32) -> UInt32 {
  frames.filter { $0.kind == .windowUpdate && $0.stream == stream }.reduce(0) { $0 + $1.number() }
}

@Test func `a stream's window is returned when its bytes are consumed, not when they arrive`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.pour(40_000, into: 1)
  #expect(peer.drain() == [])
  #expect(stream.takeBody().count == 40_000)
  #expect(peer.drain() == [], "taken is not consumed")
  peer.session.consumed(stream, bytes: 40_000)
  #expect(windowUpdates(peer.drain(), 1) == 40_000)
}

@Test func `a client may use a stream's window to its last byte; one more ends the stream and nothing else`() {
  let peer = Peer()
  let stream = peer.open(1)
  peer.pour(65_536, into: 1)
  #expect(peer.drain() == [])
  #expect(peer.ask(.data(1, [1])) == [.reset(1, flowControlError)])
  #expect(stream.closedWith?.rawValue == flowControlError)
  #expect(peer.open(3).headersComplete)
}

@Test func `a client that overruns the connection's window ends the connection`() {
  let peer = Peer()
  for index in 0..<16 as Range<Int32> {
    _ = peer.open(1 + 2 * index)
    peer.pour(65_536, into: 1 + 2 * index)
  }
  _ = peer.open(33)
  #expect(peer.drain() == [])
  let farewell = peer.ask(.data(33, [1])).first { $0.kind == .goAway }
  #expect(farewell?.number(at: 4) == flowControlError)
}

@Test func `the connection's window is returned as its streams are consumed, ended or not`() {
  let peer = Peer()
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.pour(65_535, into: stream.id)
    if index % 2 == 0 { peer.send(.data(stream.id, [1], end: true)) }
    peer.session.consumed(stream, bytes: stream.takeBody().count)
    #expect(!peer.drain().contains { $0.kind == .goAway }, "stream \(stream.id)")
  }
}

@Test func `bytes left unread when their stream closes return the connection's window`() {
  let peer = Peer()
  var returned: UInt32 = 0
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.pour(60_000, into: stream.id)
    let frames = peer.ask(.reset(stream.id))
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(stream.id)")
    #expect(stream.untakenBodyBytes == 0)
    returned += windowUpdates(frames, 0)
  }
  #expect(returned > 40 * 60_000 - 1_048_576 / 2)
}

@Test func `DATA after the answer is dropped, and the connection's window is returned`() {
  let peer = Peer()
  var returned: UInt32 = 0
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.session.respondTrailersOnly(stream, trailersOnly)
    peer.pour(60_000, into: stream.id)
    #expect(stream.untakenBodyBytes == 0)
    let frames = peer.drain()
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(stream.id)")
    returned += windowUpdates(frames, 0)
  }
  #expect(returned > 40 * 60_000 - 1_048_576 / 2)
}
