// Telemetry: the export of traces to a collector.
//
// Owns: the messages of the OpenTelemetry protocol (OTLP over gRPC), their batches, and the thread that sends them.
// deploy/gen writes the folder Generated.
// Does not own: the spans and which of them are exported (Observability), the connection (Client).
// Read next: SpanMessages.swift; then Observability/Tracing/CallTracer.swift.

internal import API
internal import Client
internal import GRPC
package import Observability
package import Reactor
internal import Synchronization

/// The thread that sends finished spans to a collector in batches. No call waits for it: a collector that is slow or
/// gone costs spans, which are counted.
package final class TraceExporter: Sendable {
  /// The collector, and the version of the service that the spans state.
  package struct Target: Sendable {
    let endpoint: EndpointSettings
    let serviceVersion: String

    /// - Parameters:
    ///   - isPlain: without TLS, for a collector on this machine.
    ///   - authorityFile: PEM; empty: the authorities of the system.
    ///   - certificateFile: PEM; empty: the server presents none.
    package init(
      host: String, port: UInt16, isPlain: Bool, authorityFile: String, certificateFile: String, keyFile: String,
      serviceVersion: String
    ) {
      var endpoint = EndpointSettings(host: host, port: port, authorityFile: authorityFile)
      endpoint.isPlain = isPlain
      endpoint.certificateFile = certificateFile
      endpoint.keyFile = keyFile
      endpoint.connectMillis = TraceExporter.callMillis
      self.endpoint = endpoint
      self.serviceVersion = serviceVersion
    }

    static let serviceName = "latchkey"
  }

  private static let pauseMillis: UInt32 = 1_000
  private static let batchMax = 512
  private static let callMillis: Int64 = 5_000
  /// Time for the export of what is left at the stop. Together with a pause in progress, it is shorter than the time
  /// that the server waits for this thread.
  private static let lastMillis: Int64 = 800

  private let buffer: SpanBuffer
  private let target: Target
  private let failure: LastingFailure
  /// Kept until an export fails, because reading the authorities takes milliseconds.
  private let endpoint = Mutex<Endpoint?>(nil)
  private let isStopping = Atomic<Bool>(false)
  package let ended = Completion()

  package init(_ buffer: SpanBuffer, _ target: Target, log: Log) {
    self.buffer = buffer
    self.target = target
    failure = LastingFailure(log, "traces cannot be exported", over: "traces are exported again")
  }

  /// Starts the thread.
  package func start() {
    startThread(named: "trace-export", niceness: 10) { [self] in
      while true {
        sleepThread(millis: TraceExporter.pauseMillis)
        guard !isStopping.load(ordering: .acquiring) else { break }
        exportAll()
      }
      exportLast()
      ended.end()
    }
  }

  /// Ends the thread after the batch in progress and one more short export.
  package func stop() { isStopping.store(true, ordering: .releasing) }

  /// Exports until no spans are left, an export fails, or the server stops.
  private func exportAll() {
    while !isStopping.load(ordering: .acquiring) {
      guard exportBatch(limitMillis: TraceExporter.callMillis) else { return }
    }
  }

  private func exportLast() {
    let endMillis = monotonicMillis() + TraceExporter.lastMillis
    while case let leftMillis = endMillis - monotonicMillis(), leftMillis > 0 {
      guard exportBatch(limitMillis: leftMillis) else { return }
    }
  }

  /// Returns whether there may be more to export.
  private func exportBatch(limitMillis: Int64) -> Bool {
    let spans = buffer.take(atMost: TraceExporter.batchMax)
    guard !spans.isEmpty else { return false }
    do {
      try export(spans, limitMillis: limitMillis)
      buffer.exported(spans.count, succeeded: true)
      failure.passed()
      return true
    } catch {
      endpoint.withLock { $0 = nil }
      buffer.exported(spans.count, succeeded: false)
      failure.failed(error)
      return false
    }
  }

  /// Sends a batch on a connection of its own. After a failure, the name of the collector is resolved again, because it
  /// may have moved.
  private func export(_ spans: [FinishedSpan], limitMillis: Int64) throws {
    let endpoint = try endpoint.withLock(\.self) ?? Endpoint(target.endpoint)
    self.endpoint.withLock { $0 = endpoint }
    let caller = Client.Caller(endpoint, CallOptions(timeoutMillis: limitMillis))
    let response = try caller.call(
      TraceRPC.export, ExportTraceServiceRequest(spans, Target.serviceName, target.serviceVersion))
    if let partial = response.partialSuccess, partial.rejectedSpans > 0 {
      throw RejectedSpans(description: "the collector rejected \(partial.rejectedSpans) spans: \(partial.errorMessage)")
    }
  }
}

private struct RejectedSpans: Error, CustomStringConvertible {
  let description: String
}
