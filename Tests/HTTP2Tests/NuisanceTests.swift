import Testing

@testable import HTTP2

// MARK: Budgets, as frames spend them

/// The debug data of the GOAWAY, if there was one.
private func farewell(_ frames: [Frame]) -> String? {
  frames.first { $0.kind == .goAway }.map { String(decoding: $0.payload[8...], as: UTF8.self) }
}

/// Spends a budget up to its limit, checks that the connection lives, and returns the effect of one more.
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

/// Makes this many calls and cancels those for which `cancels` is true. Returns the debug data of a GOAWAY.
private func call(_ peer: Peer, _ count: Int32, from first: Int32 = 0, cancels: (Int32) -> Bool) -> String? {
  for index in first..<first + count {
    let id = 1 + 2 * index
    if cancels(index) {
      peer.send(.headers(id), .reset(id))
    } else {
      peer.session.respondTrailersOnly(peer.open(id, end: true), trailersOnly)
    }
    if let words = farewell(peer.drain()) { return words }
  }
  return nil
}

@Test func `an identified caller may cancel half of its calls, however many it makes`() {
  let peer = Peer()
  peer.sink.callerIsIdentified()
  #expect(call(peer, 2_000) { $0 % 2 == 1 } == nil)
}

@Test func `an unidentified caller has no share of calls that it may cancel`() {
  #expect(call(Peer(), 2_000) { $0 % 2 == 1 } == "too_many_resets")
}

@Test func `CVE-2023-44487: an identified caller that cancels more than its share is ended past the floor`() {
  let peer = Peer()
  peer.sink.callerIsIdentified()
  #expect(call(peer, 100) { _ in true } == nil)
  #expect(call(peer, 1, from: 100) { _ in true } == "too_many_resets")
}

@Test func `resets of calls that were answered do not count`() {
  let peer = Peer()
  for index in 0..<150 as Range<Int32> {
    peer.session.start(peer.open(1 + 2 * index), head)
    let frames = peer.ask(.reset(1 + 2 * index))
    #expect(!frames.contains { $0.kind == .goAway }, "stream \(1 + 2 * index)")
  }
}

@Test func `resets are forgiven when their window ends`() {
  let peer = Peer()
  for index in 0..<180 as Range<Int32> {
    if index == 90 { peer.nowMillis = 10_000 }
    #expect(farewell(peer.ask(.headers(1 + 2 * index), .reset(1 + 2 * index))) == nil, "reset \(index)")
  }
}

@Test func `CVE-2025-8671: resets that a client provokes end the connection at limit + 1`() {
  let peer = Peer()
  let full = [UInt8](repeating: 0x61, count: 16_384)
  let words = onePast(peer, 50) {
    let id = 1 + 2 * $0
    return switch $0 % 4 {
    case 0: [.headers(id), .windowUpdate(id, UInt32(Int32.max))]
    case 1: [.headers(id, Frame.request + [("content-length", "5")]), .data(id, [1], end: true)]
    // nghttp2 reports only this reset of those that it sends by itself.
    case 2: [.headers(id)] + [Frame](repeating: .data(id, full), count: 5)
    default: [.headers(id, Frame.request + [("Upper", "case")])]
    }
  }
  #expect(words == "too_many_stream_errors")
}

@Test func `streams past a limit that the client has not acknowledged end the connection at limit + 1`() {
  let peer = Peer(acknowledges: false)
  for index in 0..<100 as Range<Int32> { _ = peer.open(1 + 2 * index) }
  #expect(onePast(peer, 500) { [.headers(201 + 2 * $0)] } == "too_many_premature_streams")
}

@Test func `header blocks on a stream that the server has reset end the connection at limit + 1`() throws {
  let peer = Peer { $0.budget.controlFrames.count = 20 }
  _ = peer.open(1)
  peer.session.reset(try #require(peer.sink.stream(1)), .internalError)
  _ = peer.drain()
  let late = Frame.headers(1, [("x", "1")], end: true)
  #expect(onePast(peer, 20) { _ in [late] } == "too_many_control_frames")
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

@Test func `CVE-2019-9518: DATA of nothing but padding is empty`() {
  let peer = Peer()
  _ = peer.open(1)
  let padded = Frame(kind: .data, flags: 0x8, stream: 1, payload: [3, 0, 0, 0])
  #expect(onePast(peer, 10) { _ in [padded] } == "too_many_empty_frames")
}

@Test func `empty DATA that ends a request does not count`() {
  let peer = Peer()
  for index in 0..<50 as Range<Int32> {
    let stream = peer.open(1 + 2 * index)
    peer.send(.data(stream.id, end: true))
    peer.session.respondTrailersOnly(stream, trailersOnly)
    #expect(farewell(peer.drain()) == nil)
  }
}

// MARK: Frames without effect

/// Sends a frame without effect as often as is allowed, and returns the effect of one more.
private func controlFrames(_ peer: Peer, _ frame: [UInt8]) -> String? {
  for index in 0..<1_000 {
    _ = peer.feed(frame)
    if let words = farewell(peer.drain()) { return "\(words) at \(index)" }
  }
  _ = peer.feed(frame)
  return farewell(peer.drain())
}

@Test(arguments: [
  Frame.windowUpdate(0, 1).bytes, Frame.ping(ack: true).bytes, Frame.unknown, Frame.windowUpdate(1, 1).bytes,
])
func `CVE-2019-9511, 9512: frames without effect end the connection at limit + 1`(frame: [UInt8]) {
  let peer = Peer()
  // A closed stream: nghttp2 ignores its frames without a callback.
  peer.session.respondTrailersOnly(peer.open(1, end: true), trailersOnly)
  _ = peer.drain()
  #expect(controlFrames(peer, frame) == "too_many_control_frames")
  #expect(peer.session.isOver)
}

@Test func `window updates for answers never count`() {
  let peer = Peer()
  for index in 0..<1_000 as Range<Int32> {
    _ = peer.owe(1 + 2 * index, bytes: 10)
    for _ in 0..<10 { #expect(farewell(peer.ask(.windowUpdate(0, 1))) == nil) }
  }
}

// MARK: Header lists

@Test func `header lists past the limit end the connection at limit + 1`() {
  let peer = Peer()
  let words = onePast(peer, 50) {
    peer.sink.stream(1 + 2 * ($0 - 1)).map { peer.session.respondTrailersOnly($0, trailersOnly) }
    return [.headers(1 + 2 * $0, request(listBytes: 20_000))]
  }
  #expect(words == "too_many_large_header_lists")
}

/// A request whose header list has this many bytes, in fields so small that one frame has room for them.
private func request(listBytes: Int) -> [(String, String)] {
  let small = [(String, String)](repeating: ("a", "b"), count: 300)
  let used = (Frame.request + small).reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }
  return Frame.request + small + [("x", String(repeating: "y", count: listBytes - used - 33))]
}

@Test func `a header list at the ceiling is refused with a status, one byte past it ends the connection`() {
  let peer = Peer { $0.budget.headerListBytesCeiling = 20_000 }
  #expect(peer.ask(.headers(1, request(listBytes: 20_000))) == [])
  #expect(peer.sink.stream(1)?.headersTooLarge == true)
  #expect(farewell(peer.ask(.headers(3, request(listBytes: 20_001)))) == "header_list_bomb")
}

@Test func `a list of as many fields as the ceiling is refused with a status, one more ends the connection`() {
  let peer = Peer()
  let fields = [(String, String)](repeating: ("a", ""), count: 1_024 - Frame.request.count)
  #expect(farewell(peer.ask(.headers(1, Frame.request + fields))) == nil)
  #expect(peer.sink.stream(1)?.headersTooLarge == true)
  #expect(farewell(peer.ask(.headers(3, Frame.request + fields + [("a", "")]))) == "header_list_bomb")
}

@Test func `CVE-2024-28182: a header block of one-byte references ends the connection at a limit`() {
  let peer = Peer()
  _ = peer.feed(Frame.indexed(1, fields: 16_384, ends: false).bytes)
  #expect(farewell(peer.drain()) == "header_list_bomb")
}

@Test func `CVE-2024-28182: a header block in as many parts as the limit is accepted, one more ends the connection`() {
  for (parts, words) in [(8, nil), (9, "too_many_continuations")] as [(Int, String?)] {
    let peer = Peer()
    let more = Frame.indexed(1, fields: 1, kind: .continuation, ends: false)
    var frames = [Frame.headers(1)] + [Frame](repeating: more, count: parts)
    frames[0].flags = 0
    frames[parts].flags = Frame.endHeaders
    #expect(peer.feed(frames.flatMap(\.bytes)))
    #expect(farewell(peer.drain()) == words)
    #expect(peer.sink.stream(1)?.headersComplete == (words == nil ? true : nil))
  }
}

@Test func `CVE-2019-9516: a field without a name resets its stream, and many such streams end the connection`() {
  let peer = Peer()
  #expect(onePast(peer, 50) { [.headers(1 + 2 * $0, Frame.request + [("", "")])] } == "too_many_stream_errors")
}
