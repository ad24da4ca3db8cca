internal import Configuration
internal import Observability
internal import Reactor
internal import Telemetry

/// The export of traces.
final class ExporterPart: Part {
  private static let stopMillis: Int64 = 2_000

  let name = "traces"
  private let exporter: TraceExporter
  private let log: Log

  init(_ exporter: TraceExporter, _ log: Log) {
    self.exporter = exporter
    self.log = log
  }

  func start() { exporter.start() }

  /// Never fails, because only spans are lost: a collector that does not answer must not fail the stop of the server.
  func stop() async {
    exporter.stop()
    guard await !exporter.ended.wait(millis: ExporterPart.stopMillis) else { return }
    log.warning("the last traces are not exported", ["why": "the collector does not answer"])
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
    return [ExporterPart(TraceExporter(spans, target, log: log), log)]
  }
}
