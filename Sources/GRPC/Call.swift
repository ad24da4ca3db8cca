// GRPC: the gRPC protocol for one call, without I/O.
//
// Owns: the rules of gRPC over HTTP/2 (doc/PROTOCOL-HTTP2.md) for server and client. These are request headers, message
// framing, deadlines, the status and its text form, and the method table.
// Does not own: HTTP/2 frames and streams (HTTP2), the meaning of a message (API, Services), the rich errors of the
// application (Services). Status codes that only the application may return never appear here.
// R1 to R23 in comments are request rules, tested in Tests/Interop/test_request_rules.py. A1 to A12 are response rules,
// tested in test_response_rules.py.
// Read next: Head.swift, Framing.swift, Status.swift; Answer.swift for a client.

/// The server side of one call: receives body bytes and returns the next step.
package struct Call {
  package enum Step {
    /// The request is incomplete.
    case wait
    /// The call fails before it reaches a handler.
    case refuse(Refusal)
    /// The one message of a unary call.
    case ready(Message)
    /// The newly completed messages of a streaming call, and whether they are the last.
    case messages([Message], last: Bool)
  }

  private var framing: Framing
  private let streams: Bool
  private let takesOne: Bool
  /// Complete messages that no handler has received yet.
  private var messages: [Message] = []
  /// Number of messages that the handler of a streaming call has received.
  private var handedOut = 0
  private var over = false

  /// Begins a call.
  ///
  /// - Parameter streams: returns messages as they arrive, before the request ends.
  /// - Parameter takesOne: the client must send exactly one message. Always true for a unary call.
  package init(messageBytesMax: Int, streams: Bool, takesOne: Bool = false) {
    self.streams = streams
    self.takesOne = takesOne || !streams
    framing = Framing(bytesMax: messageBytesMax)
  }

  /// Reads body bytes, and the end of the request if `ended` (R13-R21).
  package mutating func received(_ bytes: [UInt8], ended: Bool) -> Step {
    guard !over else { return .wait }
    if !streams, ended, messages.isEmpty, let message = framing.only(bytes) {
      over = true
      return .ready(message)
    }
    if let refusal = framing.append(bytes, into: &messages) { return refuse(refusal) }
    if ended, framing.isInsideMessage { return refuse(Refusal(.internal, "the request ends inside a message")) }
    over = ended
    // doc/statuscodes.md requires UNIMPLEMENTED for any number of messages other than one.
    let count = handedOut + messages.count
    if takesOne, count > 1 { return refuse(Refusal(.unimplemented, "the call takes one message, but a second came")) }
    if takesOne, ended, count == 0 {
      return refuse(Refusal(.unimplemented, "the call takes one message, but none came"))
    }
    guard !streams else {
      handedOut = count
      defer { messages = [] }
      return messages.isEmpty && !ended ? .wait : .messages(messages, last: ended)
    }
    guard ended, let message = messages.popLast() else { return .wait }
    return .ready(message)
  }

  /// Ends the call and frees all buffered bytes.
  private mutating func refuse(_ refusal: Refusal) -> Step {
    over = true
    messages = []
    framing.drop()
    return .refuse(refusal)
  }

  /// Number of buffered bytes that no handler has received.
  ///
  /// These belong to an incomplete message, or to the message of a unary call whose request has not ended. The
  /// method's message limit bounds each.
  package var bufferedBytes: Int { messages.reduce(framing.bufferedBytes) { $0 + $1.bytes.count } }
}

/// A complete message within the received bytes.
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

/// A call that fails before it reaches a handler.
package struct Refusal: Error, Hashable, Sendable {
  package enum Form: Hashable, Sendable {
    /// HTTP 200 with the status in one header block.
    case trailersOnly
    /// An HTTP error status, for a request that is not gRPC.
    case http(Int)
    /// RST_STREAM with INTERNAL_ERROR, without a response.
    case reset
  }

  package var status: Status
  package var form: Form
  /// Whether the response lists the accepted encodings.
  package var namesEncodings: Bool

  package init(_ code: Status.Code, _ text: String, form: Form = .trailersOnly, namesEncodings: Bool = false) {
    status = Status(code, text)
    self.form = form
    self.namesEncodings = namesEncodings
  }
}
