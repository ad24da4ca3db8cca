import Encodings

/// What a call came to, as its client sees it.
package struct Answer: Sendable {
  package var status: Status
  /// Of a call that succeeded.
  package var message: Message?

  package init(status: Status, message: Message? = nil) {
    self.status = status
    self.message = message
  }
}

/// A call from its client's end: the answer's fields and bytes come in, and its end says what it came to. Of a call
/// that streams its messages are taken as they come.
package struct AnswerReader {
  private let streams: Bool
  private var framing: Framing
  private var messages: [Message] = []
  private var httpStatus = 0
  private var contentTypeIsGRPC = false
  private var grpcStatus: [UInt8]?
  private var grpcMessage: [UInt8]?
  private var details: [UInt8]?
  private var pushback: [UInt8]?

  package init(messageBytesMax: Int, streams: Bool = false) {
    self.streams = streams
    framing = Framing(bytesMax: messageBytesMax)
  }

  /// Those that are whole now, each once.
  package mutating func takeMessages() -> [Message] {
    defer { messages = [] }
    return messages
  }

  /// A field of the answer's head or of its trailers. The status of a head is overruled by that of trailers.
  package mutating func field(name: Span<UInt8>, value: Span<UInt8>) {
    switch name.count {
    case 7 where name.isText(":status"): httpStatus = Int(String(decoding: value.array, as: UTF8.self)) ?? 0
    case 11 where name.isText("grpc-status"): grpcStatus = value.array
    case 12 where name.isText("grpc-message"): grpcMessage = value.array
    case 12 where name.isText("content-type"): contentTypeIsGRPC = HeadReader.isGRPC(value)
    case 22 where name.isText("grpc-retry-pushback-ms"): pushback = value.array
    case 23 where name.isText("grpc-status-details-bin"): details = value.array
    default: break
    }
  }

  /// Body bytes have come. A status: the call is over, and its stream is to be reset.
  package mutating func received(_ bytes: [UInt8]) -> Status? {
    // What is not gRPC is not read: the HTTP status says what there is to say.
    guard contentTypeIsGRPC else { return nil }
    if messages.isEmpty, let message = framing.only(bytes) {
      messages = [message]
      return nil
    }
    if let refusal = framing.append(bytes, into: &messages) { return refusal.status }
    guard messages.count > 1, !streams else { return nil }
    return Status(.unimplemented, "a unary call has one answer, and a second came")
  }

  /// The server ended the stream.
  package func finish() -> Answer {
    guard let code = grpcStatus.map(AnswerReader.code) else { return Answer(status: statusWithoutGRPC) }
    guard code == .ok else { return Answer(status: status(code)) }
    if framing.isInsideMessage { return Answer(status: Status(.internal, "the answer ends inside a message")) }
    if streams { return Answer(status: Status(.ok)) }
    // The status document has UNIMPLEMENTED for any other number of messages than one.
    guard let message = messages.first else {
      return Answer(status: Status(.unimplemented, "a unary call has one answer, and none came"))
    }
    return Answer(status: Status(.ok), message: message)
  }

  private func status(_ code: Status.Code) -> Status {
    Status(
      code, grpcMessage.map(Status.percentDecoded) ?? "", details: details.flatMap(Base64.decode) ?? [],
      pushbackMillis: pushback.map(AnswerReader.pushbackMillis))
  }

  /// gRFC A6: what cannot be read says not to try again.
  private static func pushbackMillis(_ value: [UInt8]) -> Int64 {
    Int64(String(decoding: value, as: UTF8.self)) ?? -1
  }

  private var statusWithoutGRPC: Status {
    let what = contentTypeIsGRPC ? "without grpc-status" : "that is not gRPC"
    return Status(Status.Code(httpStatus: httpStatus), "an answer \(what), with HTTP status \(httpStatus)")
  }

  /// Of 0 to 16; anything else is UNKNOWN.
  private static func code(_ value: [UInt8]) -> Status.Code {
    guard let number = Int(String(decoding: value, as: UTF8.self)), (0...16).contains(number) else { return .unknown }
    return Status.Code(rawValue: number)
  }
}

extension Status.Code {
  /// doc/http-grpc-status-mapping.md: for answers that have no grpc-status, and for them only.
  package init(httpStatus: Int) {
    self = switch httpStatus {
    case 400, 431: .internal
    case 401: .unauthenticated
    case 403: .permissionDenied
    case 404: .unimplemented
    case 429, 502, 503, 504: .unavailable
    default: .unknown
    }
  }

  /// PROTOCOL-HTTP2.md, "Errors": what RST_STREAM with this code of RFC 9113 7 means for the call.
  package init(resetCode: UInt32) {
    self = switch resetCode {
    case 0...4, 6, 9, 10: .internal
    // There is no stream any more that a peer could mean: a mistake in one of the two.
    case 5: .internal
    case 7: .unavailable
    case 8: .cancelled
    case 11: .resourceExhausted
    case 12: .permissionDenied
    default: .unknown
    }
  }
}

extension Status {
  /// Never fails: what is no escape stays as it stands, and what is no UTF-8 is replaced (PROTOCOL-HTTP2.md).
  static func percentDecoded(_ text: [UInt8]) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(text.count)
    var at = text.startIndex
    while at < text.endIndex {
      if text[at] == UInt8(ascii: "%"), text.endIndex - at > 2, let high = Hexadecimal.value(of: text[at + 1]),
        let low = Hexadecimal.value(of: text[at + 2])
      {
        decoded.append(high << 4 | low)
        at += 3
      } else {
        decoded.append(text[at])
        at += 1
      }
    }
    return String(decoding: decoded, as: UTF8.self)
  }
}
