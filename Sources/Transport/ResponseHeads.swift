internal import GRPC
internal import HTTP2

/// The response headers of one worker's calls: those of every call, and the IDs of the call.
struct ResponseHeads {
  static let requestID = "x-request-id"
  static let traceID = "x-trace-id"

  private let plain = RewrittenHeaders(Replies.head, variable: [(requestID, RequestID.bytesMax)])
  private let traced = RewrittenHeaders(
    Replies.head, variable: [(requestID, RequestID.bytesMax), (traceID, TraceID.digits)])

  /// Returns the headers of a call. They are valid until the next call of this method.
  ///
  /// Without IDs of the caller, the request ID is also the trace ID, and is sent once.
  func head(of trace: CallTrace) -> PreparedHeaders {
    let head = trace.hasOwnTraceID ? traced : plain
    head.set(0) { room in trace.writeRequestID(to: &room) }
    if trace.hasOwnTraceID {
      head.set(1) { room in
        trace.traceID.write(to: &room)
        return TraceID.digits
      }
    }
    return head.list
  }
}

extension CallTrace {
  /// The IDs as fields of a response without a message.
  var fields: [(name: String, value: [UInt8])] {
    var fields = [(name: ResponseHeads.requestID, value: Array(requestID.utf8))]
    if hasOwnTraceID { fields.append((ResponseHeads.traceID, Array(traceID.text.utf8))) }
    return fields
  }
}
