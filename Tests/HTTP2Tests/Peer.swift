@testable import HTTP2

/// A frame of RFC 9113 6, with the parts that a test checks.
struct Frame: Equatable {
  enum Kind: UInt8 { case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation }

  var kind: Kind
  var flags: UInt8 = 0
  var stream: Int32 = 0
  var payload: [UInt8] = []

  static let endStream: UInt8 = 0x1
  static let ack: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4

  var endsStream: Bool { flags & Frame.endStream != 0 && (kind == .data || kind == .headers) }

  var bytes: [UInt8] {
    let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: payload.count >> $0) }
    return length + [kind.rawValue, flags] + big(UInt32(stream)) + payload
  }

  /// Four bytes of the payload: an error code, an increment or an id.
  func number(at offset: Int = 0) -> UInt32 { payload[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

  /// Parses whole frames only: a session never writes less.
  static func parse(_ bytes: [UInt8]) -> [Frame] {
    var frames: [Frame] = []
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      let stream = head[5...].reduce(0) { $0 << 8 | Int32($1) }
      let payload = Array(rest.dropFirst(9).prefix(length))
      frames.append(Frame(kind: Kind(rawValue: head[3])!, flags: head[4], stream: stream, payload: payload))
      rest = rest.dropFirst(9 + length)
    }
    return frames
  }
}

func big(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }

// MARK: Frames of a client

extension Frame {
  static func settings(_ entries: [(id: UInt8, value: UInt32)] = []) -> Frame {
    Frame(kind: .settings, payload: entries.flatMap { [0, $0.id] + big($0.value) })
  }

  static let settingsAck = Frame(kind: .settings, flags: ack)

  static func headers(_ stream: Int32, _ fields: [(String, String)] = request, end: Bool = false) -> Frame {
    Frame(
      kind: .headers, flags: endHeaders | (end ? endStream : 0), stream: stream,
      payload: fields.flatMap { literal($0.0) + literal($0.1, first: false) })
  }

  /// RFC 7541 6.1: one byte a field, here `accept-encoding: gzip, deflate` of the static table, which counts 60 bytes.
  static func indexed(_ stream: Int32, fields: Int, kind: Kind = .headers, ends: Bool = true) -> Frame {
    Frame(
      kind: kind, flags: ends ? endHeaders : 0, stream: stream, payload: [UInt8](repeating: 0x90, count: fields))
  }

  /// A frame of an unknown type.
  static let unknown: [UInt8] = [0, 0, 0, 0xfa, 0, 0, 0, 0, 0]

  static func data(_ stream: Int32, _ bytes: [UInt8] = [], end: Bool = false) -> Frame {
    Frame(kind: .data, flags: end ? endStream : 0, stream: stream, payload: bytes)
  }

  static func reset(_ stream: Int32, _ code: UInt32 = 8) -> Frame {
    Frame(kind: .reset, stream: stream, payload: big(code))
  }

  static func windowUpdate(_ stream: Int32, _ increment: UInt32) -> Frame {
    Frame(kind: .windowUpdate, stream: stream, payload: big(increment))
  }

  static func ping(_ payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8], ack: Bool = false) -> Frame {
    Frame(kind: .ping, flags: ack ? Frame.ack : 0, payload: payload)
  }

  static func priority(_ stream: Int32) -> Frame { Frame(kind: .priority, stream: stream, payload: big(0) + [15]) }

  static let request = [
    (":method", "POST"), (":scheme", "https"), (":path", "/a.B/C"), (":authority", "localhost"), ("te", "trailers"),
  ]

  /// RFC 7541 6.2.2: a literal without indexing, with a new name, without Huffman code.
  private static func literal(_ text: String, first: Bool = true) -> [UInt8] {
    var length: [UInt8] = []
    var left = text.utf8.count
    if left < 127 {
      length = [UInt8(left)]
    } else {
      length = [127]
      left -= 127
      while left >= 128 {
        length.append(UInt8(left % 128) | 128)
        left /= 128
      }
      length.append(UInt8(left))
    }
    return (first ? [0] : []) + length + Array(text.utf8)
  }
}

/// A client that has sent its preface to a session, and exchanges frames with it.
final class Peer {
  let session: Session
  var nowMillis: Int64 = 0

  /// - Parameter acknowledges: The client has acknowledged the server's SETTINGS, so they are in force.
  /// - Parameter settings: The client's own SETTINGS.
  init(
    pool: SessionPool? = nil, acknowledges: Bool = true, settings: [(id: UInt8, value: UInt32)] = [],
    _ change: (inout SessionLimits) -> Void = { _ in }
  ) {
    var limits = SessionLimits()
    change(&limits)
    session = Session(limits, pool, nowMillis: 0)!
    _ = feed(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame.settings(settings).bytes)
    if acknowledges { send(.settingsAck) }
    _ = drain()
  }

  var sink: Sink { session.sink }

  func feed(_ bytes: [UInt8]) -> Bool { session.feed(bytes, nowMillis: nowMillis) }

  func send(_ frames: Frame...) { _ = feed(frames.flatMap(\.bytes)) }

  /// The session's output.
  func drain(bytesMax: Int = .max) -> [Frame] {
    var bytes: [UInt8] = []
    _ = session.drain(into: &bytes, bytesMax: bytesMax)
    return Frame.parse(bytes)
  }

  /// Sends frames and returns the answer.
  func ask(_ frames: Frame...) -> [Frame] {
    _ = feed(frames.flatMap(\.bytes))
    return drain()
  }

  /// Requests an answer of this many bytes, which the client's windows may delay.
  func owe(_ id: Int32, bytes: Int) -> Stream {
    let stream = open(id, end: true)
    session.respond(stream, head: head, body: [UInt8](repeating: 0x62, count: bytes), trailers: trailers)
    return stream
  }

  /// Opens a stream with a complete or incomplete request, and returns the server's stream.
  func open(_ id: Int32, end: Bool = false) -> Stream {
    send(.headers(id, end: end))
    return sink.stream(id)!
  }

  /// Sends this many bytes of a body in frames of the usual size.
  func pour(_ count: Int, into id: Int32) {
    var left = count
    while left > 0 {
      send(.data(id, [UInt8](repeating: 0x61, count: min(16_384, left))))
      left -= min(16_384, left)
    }
  }
}

let head = PreparedHeaders([(":status", Array("200".utf8)), ("content-type", Array("application/grpc".utf8))])
let trailers = PreparedHeaders([("grpc-status", Array("0".utf8))])
let trailersOnly = PreparedHeaders([(":status", Array("200".utf8)), ("grpc-status", Array("0".utf8))])

extension HeaderBlock {
  var text: [String] {
    var text: [String] = []
    forEach { name, value in
      let (name, value) = (name.indices.map { name[$0] }, value.indices.map { value[$0] })
      text.append("\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))")
    }
    return text
  }
}
