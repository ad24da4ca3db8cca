import GRPC

extension FuzzTarget {
  /// A body cut into messages: the same messages for every split, no buffering beyond the limit, and no message after
  /// the end. The input has options, four lengths of pieces, and the body.
  static let framing = FuzzTarget("framing", seeds: framingSeeds) { input in
    var reader = InputReader(input)
    let options = reader.byte()
    let streams = options & 1 != 0
    let lengths = reader.bytes(4).map { Int($0) + 1 }
    let body = reader.rest()
    let whole = Body(body.pieces([]), streams: streams, endsApart: false)
    let split = Body(body.pieces(lengths), streams: streams, endsApart: options & 2 != 0)
    whole.check(body, streams: streams)
    split.check(body, streams: streams)
    law(whole.end == split.end, "the end depends on the split: \(whole.end), \(split.end)")
    if whole.end == .complete { law(whole.messages == split.messages, "the messages depend on the split") }
  }

  private static let messageBytesMax = 256

  /// The messages and the end that a call reads from a body.
  private struct Body {
    enum End { case open, complete, refused }

    var messages: [[UInt8]] = []
    var end = End.open

    init(_ pieces: [[UInt8]], streams: Bool, endsApart: Bool) {
      var call = Call(messageBytesMax: messageBytesMax, streams: streams)
      let pieces = endsApart || pieces.isEmpty ? pieces + [[]] : pieces
      for (index, piece) in pieces.enumerated() {
        take(call.received(piece, ended: index == pieces.count - 1))
        // A unary call also keeps the whole message, in the bytes that it arrived in, which begin another one.
        let heldBytesMax = (streams ? 1 : 3) * (messageBytesMax + 5)
        law(call.bufferedBytes < heldBytesMax, "\(call.bufferedBytes) bytes are buffered")
        if end == .refused { break }
      }
      if case .wait = call.received([0, 0, 0, 0, 0], ended: true) { return }
      law(false, "a call continues after its end")
    }

    private mutating func take(_ step: Call.Step) {
      switch step {
      case .wait: break
      case .refuse: end = .refused
      case .ready(let message):
        messages.append(Array(message.bytes[message.start..<message.end]))
        end = .complete
      case .messages(let some, let last):
        messages += some.map { Array($0.bytes[$0.start..<$0.end]) }
        if last { end = .complete }
      }
    }

    /// Compares with a parser of the whole body.
    func check(_ body: [UInt8], streams: Bool) {
      var expected: [[UInt8]] = []
      var isWellFormed = true
      var rest = body[...]
      while !rest.isEmpty {
        let length = rest.dropFirst().prefix(4).reduce(0) { $0 << 8 | Int($1) }
        isWellFormed = rest.count >= 5 && rest.first == 0 && length <= messageBytesMax && length <= rest.count - 5
        guard isWellFormed else { break }
        expected.append(Array(rest.dropFirst(5).prefix(length)))
        rest = rest.dropFirst(5 + length)
      }
      let isTaken = isWellFormed && (streams || expected.count == 1)
      law(end == (isTaken ? .complete : .refused), "the body ends as \(end)")
      law(messages == (isTaken ? expected : Array(expected.prefix(messages.count))), "messages that were not sent")
    }
  }
}
