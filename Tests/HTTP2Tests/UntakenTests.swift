import Testing

@testable import HTTP2

private let limits = Untaken.Limits(stillMillis: 30, wholeMillis: 60)
/// RFC 9113 6.5.2.
private let initialWindow: UInt8 = 4

@Test func `without waiting bytes there is no deadline`() {
  var untaken = Untaken()
  #expect(untaken.dueMillis(limits) == nil)
  untaken.look(leftBytes: 0, takenBytes: 7, nowMillis: 5)
  #expect(untaken.dueMillis(limits) == nil)
}

@Test func `waiting bytes are due after the stall time without progress`() {
  var untaken = Untaken()
  untaken.look(leftBytes: 9, takenBytes: 0, nowMillis: 5)
  untaken.look(leftBytes: 9, takenBytes: 0, nowMillis: 34)
  #expect(untaken.dueMillis(limits) == 35)
}

@Test func `each byte taken restarts the stall time, but not the total time`() {
  var untaken = Untaken()
  untaken.look(leftBytes: 9, takenBytes: 0, nowMillis: 5)
  untaken.look(leftBytes: 8, takenBytes: 1, nowMillis: 25)
  #expect(untaken.dueMillis(limits) == 55)
  untaken.look(leftBytes: 7, takenBytes: 2, nowMillis: 45)
  #expect(untaken.dueMillis(limits) == 65)
}

@Test func `only bytes that the client takes are progress, even if more wait than before`() {
  var untaken = Untaken()
  untaken.look(leftBytes: 9, takenBytes: 0, nowMillis: 0)
  untaken.look(leftBytes: 20, takenBytes: 0, nowMillis: 10)
  #expect(untaken.dueMillis(limits) == 30)
  untaken.look(leftBytes: 20, takenBytes: 5, nowMillis: 20)
  #expect(untaken.dueMillis(limits) == 50)
}

@Test func `after all bytes are taken, the next ones have their own time`() {
  var untaken = Untaken()
  untaken.look(leftBytes: 9, takenBytes: 0, nowMillis: 0)
  untaken.look(leftBytes: 0, takenBytes: 9, nowMillis: 29)
  #expect(untaken.dueMillis(limits) == nil)
  untaken.look(leftBytes: 9, takenBytes: 9, nowMillis: 100)
  #expect(untaken.dueMillis(limits) == 130)
}

// MARK: Answers behind a client's windows

@Test func `CVE-2019-9517: a stalled answer is reset at its limit, and the connection stays`() {
  let peer = Peer(settings: [(initialWindow, 0)])
  let stream = peer.owe(1, bytes: 10)
  _ = peer.drain()
  #expect(peer.session.resetUntaken(nowMillis: 1_000) == 31_000)
  #expect(peer.session.resetUntaken(nowMillis: 30_999) == 31_000)
  #expect(peer.drain() == [])
  #expect(peer.session.resetUntaken(nowMillis: 31_000) == nil)
  #expect(peer.drain() == [.reset(1, ErrorCode.enhanceYourCalm.rawValue)])
  #expect(stream.isClosed && peer.sink.unsentBytes == 0)
  #expect(peer.open(3).headersComplete)
}

@Test func `an answer that is taken byte by byte has a time limit too`() {
  let peer = Peer(settings: [(initialWindow, 0)])
  let stream = peer.owe(1, bytes: 100)
  for second in 0..<60 as Range<Int64> {
    #expect(peer.session.resetUntaken(nowMillis: second * 1_000) != nil, "second \(second)")
    _ = peer.ask(.windowUpdate(1, 1))
  }
  #expect(!stream.isClosed && stream.unsentBytes == 40)
  _ = peer.session.resetUntaken(nowMillis: 60_000)
  #expect(peer.drain() == [.reset(1, ErrorCode.enhanceYourCalm.rawValue)])
}

@Test func `the third answer that is left untaken ends the connection`() {
  let peer = Peer(settings: [(initialWindow, 0)])
  for id in [1, 3, 5] as [Int32] { _ = peer.owe(id, bytes: 10) }
  _ = peer.drain()
  _ = peer.session.resetUntaken(nowMillis: 0)
  _ = peer.session.resetUntaken(nowMillis: 30_000)
  #expect(peer.sink.events.takeUntakenResets() == 3)
  #expect(peer.session.endedOver?.debugData == "too_many_untaken_answers")
  #expect(peer.drain().contains { $0.kind == .goAway })
  #expect(peer.session.isOver)
}

@Test func `an untaken answer is counted once, however long its reset waits to be sent`() {
  let peer = Peer(settings: [(initialWindow, 0)])
  _ = peer.owe(1, bytes: 10)
  _ = peer.drain()
  _ = peer.session.resetUntaken(nowMillis: 0)
  for second in 30..<40 as Range<Int64> { #expect(peer.session.resetUntaken(nowMillis: second * 1_000) == nil) }
  #expect(peer.sink.events.takeUntakenResets() == 1 && peer.sink.unsentBytes == 0)
  #expect(peer.session.endedOver == nil)
  #expect(peer.drain() == [.reset(1, ErrorCode.enhanceYourCalm.rawValue)])
}

@Test func `trailers that the client's window delays count as untaken like data`() {
  let peer = Peer(settings: [(initialWindow, 5)])
  let stream = peer.open(1, end: true)
  peer.session.start(stream, head)
  peer.session.send(stream, [1, 2, 3, 4, 5])
  #expect(peer.drain().count == 2 && stream.unsentBytes == 0 && !peer.session.hasUntaken)
  #expect(peer.session.isHeldBack(stream))
  peer.session.finish(stream, trailers)
  #expect(peer.drain() == [] && peer.session.hasUntaken)
  #expect(peer.session.resetUntaken(nowMillis: 1_000) == 31_000)
  _ = peer.session.resetUntaken(nowMillis: 31_000)
  #expect(peer.drain() == [.reset(1, ErrorCode.enhanceYourCalm.rawValue)])
  #expect(peer.session.resetUntaken(nowMillis: 31_001) == nil && !peer.session.hasUntaken)
}

@Test func `trailers that waited for the client's window are sent as soon as it opens`() {
  let peer = Peer(settings: [(initialWindow, 5)])
  let stream = peer.open(1, end: true)
  peer.session.start(stream, head)
  peer.session.send(stream, [1, 2, 3, 4, 5])
  _ = peer.drain()
  peer.session.finish(stream, trailers)
  _ = peer.drain()
  #expect(peer.ask(.windowUpdate(1, 1)).last?.kind == .headers)
  #expect(stream.isClosed && peer.session.resetUntaken(nowMillis: 0) == nil && !peer.session.hasUntaken)
}

@Test func `two answers left untaken are forgiven`() {
  let peer = Peer(settings: [(initialWindow, 0)])
  for id in [1, 3] as [Int32] { _ = peer.owe(id, bytes: 10) }
  _ = peer.session.resetUntaken(nowMillis: 0)
  _ = peer.session.resetUntaken(nowMillis: 30_000)
  #expect(peer.drain().map(\.kind) == [.reset, .reset])
  #expect(!peer.session.isOver)
}

@Test func `waiting bytes are counted for the whole connection, until they are taken or dropped`() {
  let peer = Peer(settings: [(initialWindow, 6)])
  _ = peer.owe(1, bytes: 10)
  _ = peer.owe(3, bytes: 10)
  #expect(peer.sink.unsentBytes == 20)
  _ = peer.drain()
  #expect(peer.sink.unsentBytes == 8)
  _ = peer.ask(.windowUpdate(1, 4))
  #expect(peer.sink.unsentBytes == 4)
  peer.send(.reset(3))
  #expect(peer.sink.unsentBytes == 0)
}

// MARK: Incomplete frames

private let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

/// Feeds each piece at its time to a new reader. Returns when an incomplete frame began, after each piece.
private func begun(_ pieces: [(bytes: [UInt8], atMillis: Int64)]) -> [Int64?] {
  var heads = FrameHeads(nowMillis: 0)
  return pieces.map { piece in
    unsafe piece.bytes.withUnsafeBytes { unsafe heads.read($0, nowMillis: piece.atMillis) { _, _ in } }
    return heads.begunMillis
  }
}

@Test func `a greeting begins with the connection, and is complete after its SETTINGS`() {
  let settings = Frame.settings([(initialWindow, 1)]).bytes
  #expect(begun([(preface, 1), (Array(settings[..<10]), 2), (Array(settings[10...]), 3)]) == [0, 0, nil])
}

@Test func `a frame begins with its first byte, and is complete with its last`() {
  let greeting = preface + Frame.settings().bytes
  let data = Frame.data(1, [1, 2, 3]).bytes
  for cut in 1..<data.count {
    let pieces = [(greeting, 1), (Array(data[..<cut]), 2), (Array(data[cut...]), 3)] as [([UInt8], Int64)]
    #expect(begun(pieces) == [nil, 2, nil], "cut at \(cut)")
  }
}

@Test func `a frame that follows another in the same bytes begins with them`() {
  let greeting = preface + Frame.settings().bytes
  let data = Frame.data(1, [1, 2, 3]).bytes
  #expect(begun([(greeting + [0], 1), (data.dropFirst() + [0, 0], 2), (data.dropFirst(2) + [], 3)]) == [1, 2, nil])
}

@Test func `a header block begins with HEADERS, and is complete with its last CONTINUATION`() {
  let greeting = preface + Frame.settings().bytes
  let parts = [
    Frame.indexed(1, fields: 1, ends: false), .indexed(1, fields: 1, kind: .continuation, ends: false),
    .indexed(1, fields: 1, kind: .continuation),
  ]
  let pieces = zip(parts, 2...4 as ClosedRange<Int64>).map { ($0.bytes, $1) }
  #expect(begun([(greeting, 1)] + pieces) == [nil, 2, 2, nil])
}

@Test func `heads are the same however their bytes are cut`() {
  let bytes = preface + Frame.settings([(initialWindow, 9)]).bytes + Frame.headers(1).bytes + Frame.unknown
    + Frame.data(1, [1, 2], end: true).bytes + Frame.ping().bytes
  for step in [1, 2, 5, 8, 9, 10, bytes.count] {
    var heads = FrameHeads(nowMillis: 0)
    var (seen, starts): ([[Int]], [Int]) = ([], [])
    for start in stride(from: 0, to: bytes.count, by: step) {
      unsafe Array(bytes[start..<min(start + step, bytes.count)]).withUnsafeBytes {
        unsafe heads.read($0, nowMillis: 0) { head, at in
          seen.append([head.length, Int(head.kind), Int(head.flags), Int(head.stream)])
          starts.append(start + at)
        }
      }
    }
    #expect(seen.map { $0[1] } == [4, 1, 0xfa, 0, 6], "step \(step)")
    #expect(seen.last == [8, 6, 0, 0] && seen[3] == [2, 0, 1, 1], "step \(step)")
    #expect(starts.first == preface.count && starts.last == bytes.count - 17, "step \(step)")
  }
}
