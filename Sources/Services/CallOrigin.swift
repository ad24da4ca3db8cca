internal import GRPC

extension CallContext {
  /// The IDs of the call for audit rows; empty for look-ups, which write none. The trace ID is left out if it is the
  /// request ID.
  var origin: [(key: String, value: String)] {
    guard notes != nil, trace != .none else { return [] }
    let requestID = (key: "request_id", value: trace.requestID)
    return trace.hasOwnTraceID ? [requestID, (key: "trace_id", value: trace.traceID.text)] : [requestID]
  }
}
