import Encodings

/// The result of a call on the client side.
package struct Answer: Sendable {
  package var status: Status
  /// The response message of a successful unary call.
  package var message: Message?

  package init(status: Status, message: Message? = nil) {
    self.status = status
    self.message = message
  }
}

/// A parser for the response of one call: header fields and body bytes in, an `Answer` out.
///
/// A streaming call takes its messages as they arrive (`takeMessages`).
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

  /// Returns the messages completed since the last call.
  package mutating func takeMessages() -> [Message] {
    defer { messages = [] }
    return messages
  }

  /// Reads a field of the response headers or trailers. The status in the trailers replaces a status in the headers.
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

  /// Reads body bytes. Returns a status if the call has failed and the caller must reset its stream.
  package mutating func received(_ bytes: [UInt8]) -> Status? {
    // Ignore a body that is not gRPC. The HTTP status decides the result.
    guard contentTypeIsGRPC else { return nil }
    if messages.isEmpty, let message = framing.only(bytes) {
      messages = [message]
      return nil
    }
    if let refusal = framing.append(bytes, into: &messages) { return refusal.status }
    guard messages.count > 1, !streams else { return nil }
    return Status(.unimplemented, "a unary call has one response message, but a second one arrived")
  }

  /// Ends the response, when the server has ended the stream.
  package func finish() -> Answer {
    guard let code = grpcStatus.map(AnswerReader.code) else { return Answer(status: statusWithoutGRPC) }
    guard code == .ok else { return Answer(status: status(code)) }
    if framing.isInsideMessage { return Answer(status: Status(.internal, "the response ends inside a message")) }
    if streams { return Answer(status: Status(.ok)) }
    // doc/statuscodes.md requires UNIMPLEMENTED for any number of messages other than one.
    guard let message = messages.first else {
      return Answer(status: Status(.unimplemented, "a unary call has one response message, but none arrived"))
    }
    return Answer(status: Status(.ok), message: message)
  }

  private func status(_ code: Status.Code) -> Status {
    Status(
      code, grpcMessage.map(Status.percentDecoded) ?? "", details: details.flatMap(Base64.decode) ?? [],
      pushbackMillis: pushback.map(AnswerReader.pushbackMillis))
  }

  /// Parses a pushback in milliseconds. A malformed value means "do not retry" (gRFC A6).
  private static func pushbackMillis(_ value: [UInt8]) -> Int64 {
    Int64(String(decoding: value, as: UTF8.self)) ?? -1
  }

  private var statusWithoutGRPC: Status {
    let what = contentTypeIsGRPC ? "without grpc-status" : "that is not gRPC"
    return Status(Status.Code(httpStatus: httpStatus), "a response \(what), with HTTP status \(httpStatus)")
  }

  /// Parses a status code from 0 to 16. Any other value is UNKNOWN.
  private static func code(_ value: [UInt8]) -> Status.Code {
    guard let number = Int(String(decoding: value, as: UTF8.self)), (0...16).contains(number) else { return .unknown }
    return Status.Code(rawValue: number)
  }
}

extension Status.Code {
  /// Maps the HTTP status of a response without grpc-status (doc/http-grpc-status-mapping.md).
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

  /// Maps the error code of a RST_STREAM frame (RFC 9113 7) to a status (PROTOCOL-HTTP2.md, "Errors").
  package init(resetCode: UInt32) {
    self = switch resetCode {
    case 0...4, 6, 9, 10: .internal
    // The document has no mapping for STREAM_CLOSED, because no stream is open then. One of the peers has a bug.
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
  /// Decodes percent escapes. Never fails: keeps invalid escapes and replaces invalid UTF-8 (PROTOCOL-HTTP2.md).
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
