import Testing

@testable import HTTP2

private let flowControlError: UInt32 = 3

private func windowUpdates(_ frames: [Frame], _ stream: Int32) -> UInt32 {
  frames.filter { $0.kind == .windowUpdate && $0.stream == stream }.reduce(0) { $0 + $1.number() }
}

@Test func `a stream's window is given back when its bytes are consumed, not when they come`() {
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

@Test func `the connection's window is given back as its streams are consumed, ended or not`() {
  let peer = Peer()
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.pour(65_535, into: stream.id)
    if index % 2 == 0 { peer.send(.data(stream.id, [1], end: true)) }
    peer.session.consumed(stream, bytes: stream.takeBody().count)
    #expect(!peer.drain().contains { $0.kind == .goAway }, "stream \(stream.id)")
  }
}

@Test func `bytes that nobody took before their stream closed give the connection's window back`() {
  let peer = Peer()
  var returned: UInt32 = 0
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.pour(60_000, into: stream.id)
    let frames = peer.ask(.reset(stream.id))
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(stream.id)")
    #expect(stream.body.isEmpty)
    returned += windowUpdates(frames, 0)
  }
  #expect(returned > 40 * 60_000 - 1_048_576 / 2)
}

@Test func `what comes after the answer is dropped, and its window given back to the connection`() {
  let peer = Peer()
  var returned: UInt32 = 0
  for index in 0..<40 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.session.respondTrailersOnly(stream, trailersOnly)
    peer.pour(60_000, into: stream.id)
    #expect(stream.body.isEmpty)
    let frames = peer.drain()
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(stream.id)")
    returned += windowUpdates(frames, 0)
  }
  #expect(returned > 40 * 60_000 - 1_048_576 / 2)
}

// MARK: Budgets, as frames spend them

/// The words of the GOAWAY, if there was one.
private func farewell(_ frames: [Frame]) -> String? {
  frames.first { $0.kind == .goAway }.map { String(decoding: $0.payload[8...], as: UTF8.self) }
}

/// Spends a budget up to its limit, sees that it holds, and returns what one more brings.
private func onePast(_ peer: Peer, _ limit: Int, _ spend: (Int32) -> [Frame]) -> String? {
  for index in 0..<Int32(limit) {
    for frame in spend(index) { peer.send(frame) }
    let frames = peer.drain()
    if let words = farewell(frames) { return "\(words) at \(index)" }
  }
  for frame in spend(Int32(limit)) { peer.send(frame) }
  return farewell(peer.drain())
}

@Test func `CVE-2023-44487: resets of calls that were not answered end the connection at limit + 1`() {
  let peer = Peer()
  #expect(onePast(peer, 100) { [.headers(1 + 2 * $0), .reset(1 + 2 * $0)] } == "too_many_resets")
  #expect(peer.session.isOver)
}

@Test func `resets of calls that were answered are nobody's nuisance`() {
  let peer = Peer()
  for index in 0..<150 as Range<Int32> {
    peer.session.start(peer.open(1 + 2 * index), head)
    let frames = peer.ask(.reset(1 + 2 * index))
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(1 + 2 * index)")
  }
}

@Test func `resets are forgiven when their window is over`() {
  let peer = Peer()
  for index in 0..<180 as Range<Int32> {
    if index == 90 { peer.nowMillis = 10_000 }
    #expect(farewell(peer.ask(.headers(1 + 2 * index), .reset(1 + 2 * index))) == nil, "reset \(index)")
  }
}

@Test func `CVE-2025-8671: resets that a client provokes end the connection at limit + 1`() {
  let peer = Peer()
  let words = onePast(peer, 50) {
    let id = 1 + 2 * $0
    return switch $0 % 2 {
    case 0: [.headers(id), .windowUpdate(id, UInt32(Int32.max))]
    default: [.headers(id, Frame.request + [("Upper", "case")])]
    }
  }
  #expect(words == "too_many_stream_errors")
}

@Test func `CVE-2019-9515: SETTINGS, the first one counted, end the connection at limit + 1`() {
  #expect(onePast(Peer(), 10) { _ in [.settings()] } == "too_many_settings")
}

@Test func `CVE-2019-9513: PRIORITY frames end the connection at limit + 1`() {
  #expect(onePast(Peer(), 100) { _ in [.priority(1)] } == "too_many_priorities")
}

@Test func `CVE-2019-9518: empty DATA on one stream ends the connection at limit + 1`() {
  let peer = Peer()
  _ = peer.open(1)
  _ = peer.open(3)
  for _ in 0..<10 { peer.send(.data(3)) }
  #expect(onePast(peer, 10) { _ in [.data(1)] } == "too_many_empty_frames")
}

@Test func `empty DATA that ends a request is no nuisance`() {
  let peer = Peer()
  for index in 0..<50 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.send(.data(stream.id, end: true))
    peer.session.respondTrailersOnly(stream, trailersOnly)
    #expect(farewell(peer.drain()) == nil)
  }
}
