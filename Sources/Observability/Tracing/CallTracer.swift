package import GRPC
internal import Synchronization
package import Tracing

/// The tracer of the server: the backend of swift-distributed-tracing. It exists only if traces are exported.
package final class CallTracer: Tracer {
  package typealias Span = RecordedSpan

  package let buffer: SpanBuffer
  package let sampler: TraceSampler
  private let ids = Mutex(IDs())

  private struct IDs: ~Copyable {
    var maker = CallTraceMaker()
  }

  package init(_ sampler: TraceSampler, buffer: SpanBuffer = SpanBuffer()) {
    self.sampler = sampler
    self.buffer = buffer
  }

  /// Starts the span of a sampled call.
  package func start(call path: String, _ trace: CallTrace) -> RecordedSpan {
    let span = RecordedSpan(
      String(path.dropFirst()), SpanIdentity(traceID: trace.traceID, spanID: trace.spanID),
      parentID: trace.parent?.spanID ?? 0, .server, startNanos: DefaultTracerClock.now.nanosecondsSinceEpoch,
      in: .topLevel, buffer)
    let parts = path.dropFirst().split(separator: "/")
    span.attributes["rpc.system"] = "grpc"
    span.attributes["rpc.service"] = parts.first.map(String.init) ?? ""
    span.attributes["rpc.method"] = parts.last.map(String.init) ?? ""
    return span
  }

  /// Starts a trace of work without a call; nil: it is not sampled.
  package func startTrace(_ name: String, _ kind: SpanKind) -> RecordedSpan? {
    let (high, low, spanID) = ids.withLock { ($0.maker.next(), $0.maker.next(), $0.maker.next()) }
    let traceID = TraceID(high: high, low: low)
    guard sampler.samples(traceID) else { return nil }
    return RecordedSpan(
      name, SpanIdentity(traceID: traceID, spanID: spanID), parentID: 0, kind,
      startNanos: DefaultTracerClock.now.nanosecondsSinceEpoch, in: .topLevel, buffer)
  }

  /// Runs work of the current call in a span of its own, if the call is sampled.
  package func within<Value: Sendable>(
    _ name: String, _ kind: SpanKind, _ attributes: @autoclosure () -> SpanAttributes,
    _ work: (RecordedSpan?) async throws -> Value
  ) async throws -> Value {
    guard ServiceContext.current?.span != nil else { return try await work(nil) }
    let span = startSpan(name, ofKind: kind)
    span.attributes = attributes()
    defer { span.end() }
    do {
      return try await work(span)
    } catch {
      span.recordError(error)
      span.setStatus(SpanStatus(code: .error))
      throw error
    }
  }

  // MARK: Tracer

  package func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> RecordedSpan {
    let context = context()
    let identity = context.span.map { parent in
      SpanIdentity(traceID: parent.traceID, spanID: ids.withLock { $0.maker.next() })
    }
    return RecordedSpan(
      operationName, identity, parentID: context.span?.spanID ?? 0, kind,
      startNanos: instant().nanosecondsSinceEpoch, in: context, buffer)
  }

  package func startAnySpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> any Tracing.Span {
    startSpan(
      operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line)
  }

  package func forceFlush() {}

  // The server parses and writes the fields of calls itself (GRPC, Transport).
  package func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}
  package func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {}
}

extension RecordedSpan {
  /// Ends the span of a call.
  package func end(_ code: GRPC.Status.Code, requestID: String) {
    attributes["rpc.grpc.status_code"] = code.rawValue
    attributes["latchkey.request_id"] = requestID
    // The semantic conventions for servers: these statuses are faults of the server.
    if [2, 4, 12, 13, 14, 15].contains(code.rawValue) { setStatus(SpanStatus(code: .error)) }
    end()
  }
}
