// GRPC: one call as a value that does no I/O.
//
// Owns: the rules of gRPC over HTTP/2 (doc/PROTOCOL-HTTP2.md): what a request head must say, framing of messages, the
// deadline, status and its text form, the method table; and the same from a client's end.
// Does not own: frames and streams (HTTP2), the meaning of a message (API, Services), the rich errors of the
// application (Services). The codes that belong to the application never appear here.
// R1 to R23 in comments are rules of a request, each by its test in Tests/Interop/test_request_rules.py; A1 to A12 are
// those of an answer, in test_response_rules.py.
// Read next: Head.swift, Framing.swift, Status.swift; Answer.swift for a client.

/// A call from its first header to its last message. Named events come in; each returns what to do next.
package struct Call {
  package enum Step {
    /// More has to come.
    case wait
    /// The call is over before a handler saw it.
    case refuse(Refusal)
    /// A unary call: its one message.
    case ready(Message)
    /// A streaming call: the messages that are whole now, and whether those were the last.
    case messages([Message], last: Bool)
  }

  private var framing: Framing
  private let streams: Bool
  private let takesOne: Bool
  /// Of a unary call: nobody has them yet.
  private var messages: [Message] = []
  /// Messages of a streaming call.
  private var handedOut = 0
  private var over = false

  /// - Parameter streams: messages are handed out as they come, before the end of the request.
  /// - Parameter takesOne: the client sends one message and no other number, as it does in every unary call.
  package init(messageBytesMax: Int, streams: Bool, takesOne: Bool = false) {
    self.streams = streams
    self.takesOne = takesOne || !streams
    framing = Framing(bytesMax: messageBytesMax)
  }

  /// Body bytes have come, and perhaps the end of the request (R13-R21).
  package mutating func received(_ bytes: [UInt8], ended: Bool) -> Step {
    guard !over else { return .wait }
    if !streams, ended, messages.isEmpty, let message = framing.only(bytes) {
      over = true
      return .ready(message)
    }
    if let refusal = framing.append(bytes, into: &messages) { return refuse(refusal) }
    if ended, framing.isInsideMessage { return refuse(Refusal(.internal, "the request ends inside a message")) }
    over = ended
    // The status document has UNIMPLEMENTED for any other number of messages than one, where a client sends one.
    let count = handedOut + messages.count
    if takesOne, count > 1 { return refuse(Refusal(.unimplemented, "the call takes one message, and a second came")) }
    if takesOne, ended, count == 0 {
      return refuse(Refusal(.unimplemented, "the call takes one message, and none came"))
    }
    guard !streams else {
      handedOut = count
      defer { messages = [] }
      return messages.isEmpty && !ended ? .wait : .messages(messages, last: ended)
    }
    guard ended, let message = messages.popLast() else { return .wait }
    return .ready(message)
  }

  /// Nothing more is heard, and nothing is kept of what was.
  private mutating func refuse(_ refusal: Refusal) -> Step {
    over = true
    messages = []
    framing.drop()
    return .refuse(refusal)
  }

  /// Bytes held of messages that nobody was handed: of one that is not whole, and of a unary call's whole one until the
  /// client has ended the request. The method's limit bounds each.
  package var bufferedBytes: Int { messages.reduce(framing.bufferedBytes) { $0 + $1.bytes.count } }
}

/// A whole message inside the bytes it came in.
package struct Message: Sendable {
  package let bytes: [UInt8]
  package let start: Int
  package let end: Int

  init(bytes: [UInt8], start: Int, end: Int) {
    self.bytes = bytes
    self.start = start
    self.end = end
  }

  package var count: Int { end - start }
}

/// A call that ends before a handler saw it.
package struct Refusal: Error, Hashable, Sendable {
  package enum Form: Hashable, Sendable {
    /// HTTP 200 with the status in one header block.
    case trailersOnly
    /// Not gRPC: HTTP says so too.
    case http(Int)
    /// No words at all: RST_STREAM with INTERNAL_ERROR.
    case reset
  }

  package var status: Status
  package var form: Form
  /// Tell the client which encodings we take.
  package var namesEncodings: Bool

  package init(_ code: Status.Code, _ text: String, form: Form = .trailersOnly, namesEncodings: Bool = false) {
    status = Status(code, text)
    self.form = form
    self.namesEncodings = namesEncodings
  }
}
