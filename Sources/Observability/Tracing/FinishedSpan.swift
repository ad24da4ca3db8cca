package import GRPC
package import Tracing

/// A span that has ended, ready for export.
package struct FinishedSpan: Sendable {
  package enum Value: Hashable, Sendable {
    case text(String)
    case integer(Int64)
    case flag(Bool)
  }

  package var identity: SpanIdentity
  /// 0: the span has no parent.
  package var parentID: UInt64
  package var name: String
  package var kind: SpanKind
  /// Unix time.
  package var startNanos: UInt64
  package var endNanos: UInt64
  package var attributes: [(name: String, value: Value)]
  /// Why the work failed; nil: it did not.
  package var failure: String?
}

/// The identity of a span, which the spans below it refer to.
package struct SpanIdentity: Hashable, Sendable {
  package var traceID: TraceID
  package var spanID: UInt64

  package init(traceID: TraceID, spanID: UInt64) {
    self.traceID = traceID
    self.spanID = spanID
  }
}

private enum SpanIdentityKey: ServiceContextKey {
  typealias Value = SpanIdentity
}

extension ServiceContext {
  /// The current span; nil if it is not exported. Work without it creates no spans, at the cost of one look-up.
  package var span: SpanIdentity? {
    get { self[SpanIdentityKey.self] }
    set { self[SpanIdentityKey.self] = newValue }
  }
}
