/// One frame of the server, with the parts that the laws check (RFC 9113 4.1).
struct ServerFrame: Equatable, CustomStringConvertible {
  enum Kind: UInt8 { case data, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation }

  var kind: Kind
  var flags: UInt8
  var stream: Int32
  var payload: [UInt8]

  var description: String { "\(kind) \(flags) on \(stream): \(payload)" }

  var endsStream: Bool { flags & 1 != 0 && (kind == .data || kind == .headers) }

  /// Parses whole frames only: a session never writes less.
  static func parse(_ bytes: [UInt8]) -> [ServerFrame] {
    var frames: [ServerFrame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let head = Array(rest.prefix(9))
      law(head.count == 9, "half a frame head is written")
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      rest = rest.dropFirst(9)
      guard let kind = Kind(rawValue: head[3]) else { fatalError("broken law: frame type \(head[3]) is written") }
      law(length <= rest.count, "half a frame is written")
      let stream = head[5...].reduce(0) { $0 << 8 | Int32($1) }
      frames.append(ServerFrame(kind: kind, flags: head[4], stream: stream, payload: Array(rest.prefix(length))))
      rest = rest.dropFirst(length)
    }
    return frames
  }
}

/// A client's frames, for seeds.
enum ClientFrames {
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  static let greeting = preface + frame(4) + frame(4, flags: 1)

  static func frame(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    let length = [16, 8, 0].map { UInt8(truncatingIfNeeded: payload.count >> $0) }
    return length + [kind, flags] + big(stream) + payload
  }

  static func big(_ number: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }

  /// A complete header block; `ends` sets END_STREAM.
  static func request(
    _ stream: UInt32, _ path: String, ends: Bool = false, _ more: [(String, String)] = []
  ) -> [UInt8] {
    let fields = [
      (":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "localhost"), ("te", "trailers"),
      ("content-type", "application/grpc"),
    ]
    return frame(1, flags: ends ? 5 : 4, stream: stream, block(fields + more))
  }

  /// RFC 7541 6.2.2: literals without indexing, neither in Huffman code.
  static func block(_ fields: [(String, String)]) -> [UInt8] {
    fields.flatMap { name, value in [0] + text(name) + text(value) }
  }

  private static func text(_ text: String) -> [UInt8] { [UInt8(min(126, text.utf8.count))] + text.utf8.prefix(126) }

  static func data(_ stream: UInt32, _ bytes: [UInt8], ends: Bool = true) -> [UInt8] {
    frame(0, flags: ends ? 1 : 0, stream: stream, bytes)
  }

  /// With its five-byte gRPC header.
  static func message(_ bytes: [UInt8]) -> [UInt8] { [0] + big(UInt32(bytes.count)) + bytes }
}
