internal import GRPC
internal import Observability
internal import Tracing

extension ExportTraceServiceRequest {
  init(_ spans: [FinishedSpan], _ serviceName: String, _ serviceVersion: String) {
    let resource = Resource(attributes: [
      KeyValue("service.name", .text(serviceName)), KeyValue("service.version", .text(serviceVersion)),
    ])
    let scope = InstrumentationScope(name: "latchkeyd", version: serviceVersion)
    let scopeSpans = ScopeSpans(scope: scope, spans: spans.map { TraceSpan($0) })
    self.init(resourceSpans: [ResourceSpans(resource: resource, scopeSpans: [scopeSpans])])
  }
}

extension TraceSpan {
  init(_ span: FinishedSpan) {
    let kind: TraceSpan.SpanKind = switch span.kind {
    case .server: .server
    case .client: .client
    case .producer: .producer
    case .consumer: .consumer
    case .internal: .internal
    }
    let status = span.failure.map { SpanStatus(message: $0, code: .error) }
    self.init(
      traceID: bytes(span.identity.traceID.high) + bytes(span.identity.traceID.low),
      spanID: bytes(span.identity.spanID), parentSpanID: span.parentID == 0 ? [] : bytes(span.parentID),
      name: span.name, kind: kind, startTimeUnixNano: span.startNanos, endTimeUnixNano: span.endNanos,
      attributes: span.attributes.map { KeyValue($0.name, $0.value) }, status: status)
  }
}

extension KeyValue {
  fileprivate init(_ name: String, _ value: FinishedSpan.Value) {
    let value: AnyValue.Value = switch value {
    case .text(let text): .stringValue(text)
    case .integer(let number): .intValue(number)
    case .flag(let flag): .boolValue(flag)
    }
    self.init(key: name, value: AnyValue(value: value))
  }
}

/// IDs are sent in network byte order.
private func bytes(_ id: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: id >> UInt64(56 - 8 * $0)) } }
