internal import Configuration
internal import Observability
internal import Reactor
internal import Telemetry

/// The export of traces.
final class ExporterPart: Part {
  private static let stopMillis: Int64 = 2_000

  let name = "traces"
  private let exporter: TraceExporter

  init(_ exporter: TraceExporter) { self.exporter = exporter }

  func start() { exporter.start() }

  func stop() async throws {
    exporter.stop()
    guard await exporter.ended.wait(millis: ExporterPart.stopMillis) else {
      throw UnendedPart(description: "the collector does not answer")
    }
  }
}

extension Settings {
  /// Creates the tracer; `nil` if no traces are exported.
  func tracer(_ spans: SpanBuffer) -> CallTracer? {
    guard tracing.collector != nil else { return nil }
    return CallTracer(
      TraceSampler(ratio: tracing.sampleRatio, followsCallers: tracing.followsCallers), buffer: spans)
  }

  /// Creates the part that exports traces, if a collector is configured.
  func exporterParts(_ spans: SpanBuffer, _ log: Log) -> [any Part] {
    guard let collector = tracing.collector else { return [] }
    let target = TraceExporter.Target(
      host: collector.host, port: collector.port, isPlain: collector.isPlain, authorityFile: tracing.authorityFile,
      certificateFile: tracing.certificateFile, keyFile: tracing.keyFile, serviceVersion: Build.version)
    return [ExporterPart(TraceExporter(spans, target, log: log))]
  }
}
