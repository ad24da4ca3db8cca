import Testing

@testable import HTTP2

/// A client's session, and a server made of frames.
private final class Server {
  let client: ClientSession

  init(settings: [(id: UInt8, value: UInt32)] = []) {
    client = ClientSession(SessionLimits())!
    _ = drain()
    feed(.settings(settings), .settingsAck)
  }

  func feed(_ frames: Frame...) {
    let bytes = frames.flatMap(\.bytes)
    _ = unsafe bytes.withUnsafeBytes { unsafe client.feed($0) }
  }

  /// The client's frames, without its preface.
  func drain() -> [Frame] {
    var bytes: [UInt8] = []
    _ = client.drain(into: &bytes, bytesMax: .max)
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    return Frame.parse(bytes.starts(with: preface) ? Array(bytes.dropFirst(preface.count)) : bytes)
  }

  func request(_ body: [UInt8] = [1, 2, 3]) -> ClientStream { client.request(asked, body: body)! }
}

private let asked = PreparedHeaders(Frame.request.map { ($0.0, Array($0.1.utf8)) })
private let answered = [(":status", "200"), ("content-type", "application/grpc")]

@Test func `a request is HEADERS and DATA, and its end`() {
  let server = Server()
  let stream = server.request([1, 2, 3])
  #expect(!stream.wasSent)
  let frames = server.drain().filter { $0.stream == 1 }
  #expect(frames.map(\.kind) == [.headers, .data])
  #expect(frames.last?.payload == [1, 2, 3])
  #expect(frames.last?.endsStream == true)
  #expect(stream.wasSent)
}

@Test func `an answer's head, body and trailers are distinguished, and 1xx heads are dropped`() {
  let server = Server()
  let stream = server.request()
  _ = server.drain()
  server.feed(.headers(1, [(":status", "103"), ("link", "x")]), .headers(1, answered), .data(1, [9, 9]))
  #expect(stream.headers.text == [":status: 200", "content-type: application/grpc"])
  #expect(stream.takeBody() == [9, 9])
  #expect(!stream.ended)
  server.feed(.headers(1, [("grpc-status", "0")], end: true))
  #expect(stream.trailers.text == ["grpc-status: 0"])
  #expect(stream.ended && stream.closedWith == .noError)
  #expect(server.client.sink.takeTouched().map(\.id) == [1])
}

@Test func `a GOAWAY ends the streams after its last id, leaves the others open, and allows no new ones`() {
  let server = Server()
  let streams = (0..<3).map { _ in server.request() }
  _ = server.drain()
  server.feed(Frame(kind: .goAway, payload: big(3) + big(0)))
  #expect(server.client.sink.goneAfter == 3)
  #expect(streams.map(\.closedWith) == [nil, nil, .refusedStream])
  let late = server.client.request(asked, body: [])
  _ = server.drain()
  #expect(late?.closedWith == .refusedStream)
  #expect(late?.wasSent == false)
}

@Test func `requests past the server's limit wait for earlier ones`() {
  let server = Server(settings: [(3, 1)])
  let (first, second) = (server.request(), server.request())
  #expect(server.drain().filter { $0.kind == .headers }.map(\.stream) == [1])
  #expect(!first.isClosed && !second.isClosed)
  server.feed(.headers(1, answered + [("grpc-status", "0")], end: true))
  #expect(server.drain().filter { $0.kind == .headers }.map(\.stream) == [3])
  #expect(first.isClosed && !second.isClosed)
}

@Test func `a request that is cancelled before it could be sent is never sent`() {
  let server = Server(settings: [(3, 1)])
  let (_, second) = (server.request(), server.request())
  _ = server.drain()
  server.client.reset(second, .cancel)
  server.feed(.headers(1, answered + [("grpc-status", "0")], end: true))
  #expect(server.drain().filter { $0.stream == 3 } == [])
  #expect(second.closedWith == .cancel)
  #expect(!second.wasSent)
}

@Test func `the window is returned throughout a long answer`() {
  let server = Server()
  let stream = server.request()
  _ = server.drain()
  server.feed(.headers(1, answered))
  var givenBack = 0
  for _ in 0..<8 {
    server.feed(.data(1, [UInt8](repeating: 0, count: 16_384)))
    givenBack += server.drain().filter { $0.kind == .windowUpdate && $0.stream == 1 }.map { Int($0.number()) }
      .reduce(0, +)
  }
  #expect(givenBack >= 65_536)
  #expect(stream.takeBody().count == 131_072)
}

@Test func `bytes that are not HTTP/2 end the connection with a GOAWAY`() {
  let server = Server()
  let bytes = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
  _ = unsafe bytes.withUnsafeBytes { unsafe server.client.feed($0) }
  #expect(server.drain().map(\.kind).contains(.goAway))
  #expect(server.client.isOver)
}
