import Testing

@testable import HTTP2

/// Answers a stream and checks that it is closed.
private func answered(_ peer: Peer, _ id: Int32) throws {
  peer.session.respond(try #require(peer.sink.stream(id)), head: head, body: [1], trailers: trailers)
  _ = peer.drain()
  #expect(peer.sink.stream(id) == nil)
}

private func farewell(_ frames: [Frame]) -> UInt32? { frames.first { $0.kind == .goAway }?.number(at: 4) }

@Test(arguments: [Frame.headers(1, [("x", "1")], end: true), .data(1, [1])])
func `RFC 9113 5.1: a frame on a stream that both sides have ended is an error`(late: Frame) throws {
  let peer = Peer()
  _ = peer.open(1, end: true)
  try answered(peer, 1)
  _ = peer.open(3)
  #expect(farewell(peer.ask(late)) == ErrorCode.streamClosed.rawValue)
  #expect(peer.session.isOver)
}

@Test(arguments: [Frame.headers(1, [("x", "1")], end: true), .data(1, [1])])
func `RFC 9113 5.1: a frame on a stream that the client has reset is an error`(late: Frame) {
  let peer = Peer()
  _ = peer.open(1)
  #expect(farewell(peer.ask(.reset(1), late)) == ErrorCode.streamClosed.rawValue)
}

@Test func `RFC 9113 5.4.2: frames in transit on a stream that the server has reset are ignored`() throws {
  let peer = Peer()
  for id in [1, 3] as [Int32] { _ = peer.open(id) }
  try answered(peer, 1)
  peer.session.reset(try #require(peer.sink.stream(3)), .internalError)
  _ = peer.drain()
  let answer = peer.ask(.data(1, [1]), .data(3, [1]), .headers(1, [("x", "1")], end: true), .data(3, [], end: true))
  #expect(farewell(answer) == nil)
  #expect(peer.open(5).headersComplete)
}

@Test func `RFC 9113 5.1: PRIORITY, WINDOW_UPDATE and RST_STREAM are allowed on a closed stream`() throws {
  let peer = Peer()
  _ = peer.open(1, end: true)
  try answered(peer, 1)
  #expect(farewell(peer.ask(.priority(1), .windowUpdate(1, 5), .reset(1))) == nil)
}

@Test func `any number of streams that were refused in a row is remembered`() {
  let peer = Peer(acknowledges: false) { $0.streamsMax = 1 }
  _ = peer.open(1)
  let refused = (1..<300 as Range<Int32>).map { 2 * $0 + 1 }
  for id in refused { #expect(peer.ask(.headers(id)).map(\.kind) == [.reset]) }
  for id in refused { #expect(farewell(peer.ask(.data(id, [1]))) == nil) }
}

@Test func `streams that the server has reset are remembered, up to twice the number that may be open`() throws {
  let peer = Peer { $0.streamsMax = 3 }
  // Every other stream; otherwise they would be one range.
  for id in stride(from: 1, through: 25, by: 4) as StrideThrough<Int32> {
    _ = peer.open(id, end: false)
    try answered(peer, id)
    _ = peer.open(id + 2, end: true)
    try answered(peer, id + 2)
  }
  for id in stride(from: 5, through: 25, by: 4) as StrideThrough<Int32> {
    #expect(farewell(peer.ask(.data(id, [1]))) == nil)
  }
  #expect(farewell(peer.ask(.data(1, [1]))) == ErrorCode.streamClosed.rawValue)
}

@Test(arguments: [1, 2, 3, 8, 9, 10, 100])
func `frames are recognized however their bytes are split`(step: Int) throws {
  let peer = Peer()
  _ = peer.open(1, end: true)
  try answered(peer, 1)
  let frames: [Frame] = [.ping(), .headers(3), .data(3, [1, 2, 3]), .ping(), .data(1, [1])]
  let bytes = frames.flatMap(\.bytes)
  for start in stride(from: 0, to: bytes.count, by: step) { _ = peer.feed(Array(bytes[start...].prefix(step))) }
  #expect(peer.sink.stream(3)?.takeBody() == [1, 2, 3])
  #expect(farewell(peer.drain()) == ErrorCode.streamClosed.rawValue)
}

/// Sends late DATA. The session must return the used window to the connection.
private func sendLate(_ peer: Peer, _ id: Int32, bytes: Int) -> [Frame] {
  var frames: [Frame] = []
  var left = bytes
  while left > 0 {
    let part = min(left, 16_384)
    frames += peer.ask(.data(id, [UInt8](repeating: 0x61, count: part)))
    left -= part
  }
  return frames
}

@Test func `a stream that the server has reset may receive its window to the last byte and no more`() throws {
  let peer = Peer { $0.streamWindowBytes = 65_535 }
  _ = peer.open(1)
  try answered(peer, 1)
  #expect(farewell(sendLate(peer, 1, bytes: 65_535)) == nil)
  #expect(farewell(peer.ask(.data(1, [1]))) == ErrorCode.streamClosed.rawValue)
}

@Test func `each stream that the server has reset may receive a window of its own`() throws {
  let peer = Peer { $0.streamWindowBytes = 65_535 }
  for id in [1, 3] as [Int32] {
    _ = peer.open(id)
    try answered(peer, id)
  }
  for id in [1, 3] as [Int32] { #expect(farewell(sendLate(peer, id, bytes: 65_535)) == nil) }
  #expect(farewell(peer.ask(.data(3, [1]))) == ErrorCode.streamClosed.rawValue)
}

@Test func `bytes after a fault are not stored, however many arrive before the connection ends`() throws {
  let peer = Peer()
  _ = peer.open(1, end: true)
  try answered(peer, 1)
  peer.send(.data(1, [1]))
  #expect(peer.sink.abuse.fault != nil)
  for _ in 0..<1_000 { peer.send(.data(1, [1])) }
  #expect(peer.sink.takeDoubtful().isEmpty)
  #expect(farewell(peer.drain()) == ErrorCode.streamClosed.rawValue)
}
