import HTTP2

extension FuzzTarget {
  /// A whole connection without TLS. The input has options, four lengths of pieces, and the client's bytes.
  ///
  /// The laws: the result does not depend on how the bytes were split; each call gets one answer or a reset, never
  /// both and never two; and all memory is released when the client has disconnected.
  static let connection = FuzzTarget("connection", seeds: connectionSeeds) { input in
    var reader = InputReader(input)
    let options = ConnectionOptions(rawValue: reader.byte())
    let lengths = reader.bytes(4).map { Int($0) + 1 }
    let bytes = (options.contains(.greets) ? ClientFrames.greeting : []) + reader.rest()
    compare(bytes, lengths)
    live(bytes.pieces(lengths), options)
  }

  private static func compare(_ bytes: [UInt8], _ lengths: [Int]) {
    let whole = Observation(bytes.pieces([]))
    let split = Observation(bytes.pieces(lengths))
    // Bytes after a fault may be processed or not. But the connection must end in every case.
    let said = "\(whole.said) in one piece, \(split.said) in many"
    law(whole.isEnding == split.isEnding, "the end of a connection depends on the split: \(said)")
    guard !whole.isEnding else { return }
    law(whole.said == split.said, "a session's output depends on the split: \(said)")
    law(whole.streams == split.streams, "a session's input depends on the split: \(whole), \(split)")
  }

  private static func live(_ pieces: [[UInt8]], _ options: ConnectionOptions) {
    var remains: [Remains] = []
    do {
      let pump = Pump(options)
      for (index, piece) in pieces.enumerated() {
        guard pump.turn(piece) else { break }
        if options.contains(.drains), index == pieces.count / 2 { pump.drain() }
      }
      pump.finish()
      remains = pump.close()
    }
    law(remains.allSatisfy { $0.value == nil }, "an object outlives its connection")
  }
}

/// Options of a connection.
struct ConnectionOptions: OptionSet {
  let rawValue: UInt8
  /// Sends the client's preface, its SETTINGS and its acknowledgement of ours, which the fuzzer then need not find.
  static let greets = ConnectionOptions(rawValue: 1)
  static let drains = ConnectionOptions(rawValue: 2)
  /// The client reads 64 bytes in each turn.
  static let isSlow = ConnectionOptions(rawValue: 4)
  /// Ten seconds between two pieces.
  static let pauses = ConnectionOptions(rawValue: 8)
}

/// An object that must not outlive its connection.
struct Remains {
  weak var value: AnyObject?
}

/// The input and output of a session, without answers.
private struct Observation {
  struct Heard: Equatable {
    var fields: [[UInt8]]
    var isTooLarge: Bool
    var body: [UInt8]
    var ended: Bool
    var closedWith: ErrorCode?
  }

  var streams: [Int32: Heard] = [:]
  var said: [ServerFrame] = []
  /// A GOAWAY from either side, or an error. After it, input counts only until no stream is open.
  var isEnding = false

  init(_ pieces: [[UInt8]]) {
    guard let session = Session(SessionLimits(), nowMillis: 0) else { fatalError("no session") }
    var bodies: [Int32: [UInt8]] = [:]
    for piece in pieces {
      let isAlive = session.feed(piece, nowMillis: 0)
      for stream in session.sink.takeTouched() {
        bodies[stream.id, default: []] += stream.takeBody()
        streams[stream.id] = Observation.heard(of: stream, bodies[stream.id] ?? [])
      }
      guard isAlive else {
        isEnding = true
        break
      }
    }
    var out: [UInt8] = []
    law(session.drain(into: &out, bytesMax: .max), "a session cannot be drained")
    said = ServerFrame.parse(out)
    isEnding = isEnding || session.sink.goawayReceived || said.contains { $0.kind == .goAway }
    // Streams that the output closed.
    for stream in session.sink.takeTouched() {
      streams[stream.id] = Observation.heard(of: stream, bodies[stream.id] ?? [])
    }
  }

  private static func heard(of stream: Stream, _ body: [UInt8]) -> Heard {
    var fields: [[UInt8]] = []
    stream.headers.forEach { name, value in fields += [name.indices.map { name[$0] }, value.indices.map { value[$0] }] }
    return Heard(
      fields: fields, isTooLarge: stream.headersTooLarge, body: stream.isClosed ? [] : body, ended: stream.ended,
      closedWith: stream.closedWith)
  }
}
