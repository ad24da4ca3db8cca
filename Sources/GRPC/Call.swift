// GRPC: one call as a value that does no I/O.
//
// Owns: the rules of gRPC over HTTP/2 (doc/PROTOCOL-HTTP2.md): what a request head must say, framing of messages, the
// deadline, status and its text form, the method table; and the same from a client's end.
// Does not own: frames and streams (HTTP2), the meaning of a message (Wire, Services), the rich errors of the
// application (Services). The codes that belong to the application never appear here.
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

  package let head: RequestHead
  private var framing: Framing
  private let streams: Bool
  private var messages: [Message] = []
  private var over = false

  /// `streams`: the client may send any number of messages.
  package init(head: RequestHead, messageBytesMax: Int, streams: Bool) {
    self.head = head
    self.streams = streams
    framing = Framing(bytesMax: messageBytesMax)
  }

  /// Body bytes have come, and perhaps the end of the request (R13-R21).
  package mutating func received(_ bytes: [UInt8], ended: Bool) -> Step {
    guard !over else { return .wait }
    if !streams, ended, messages.isEmpty, let message = framing.only(bytes) {
      over = true
      return .ready(message)
    }
    if let refusal = framing.append(bytes, into: &messages) {
      over = true
      return .refuse(refusal)
    }
    if ended, framing.isInsideMessage {
      over = true
      return .refuse(Refusal(.internal, "the request ends inside a message"))
    }
    over = ended
    guard !streams else {
      defer { messages = [] }
      return messages.isEmpty && !ended ? .wait : .messages(messages, last: ended)
    }
    // The status document has UNIMPLEMENTED for a unary call with any other number of messages than one.
    if messages.count > 1 {
      over = true
      return .refuse(Refusal(.unimplemented, "a unary call takes one message, and a second came"))
    }
    guard ended else { return .wait }
    guard let message = messages.popLast() else {
      return .refuse(Refusal(.unimplemented, "a unary call takes one message, and none came"))
    }
    return .ready(message)
  }

  /// Bytes held for messages that are not whole: they are bounded by the method's limit.
  package var bufferedBytes: Int { framing.bufferedBytes }
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
