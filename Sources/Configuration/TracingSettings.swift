/// Export of traces to a collector.
package struct TracingSettings: Hashable, Sendable {
  /// nil: no traces are exported.
  package var collector: ServerAddress?
  package var authorityFile = ""
  package var certificateFile = ""
  package var keyFile = ""
  package var sampleRatio = 0.01
  package var followsCallers = true

  static let usualPort: UInt16 = 4_317
}

extension Settings {
  mutating func readTracing(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("tracing") { group throws(ConfigurationError) in
      let url = try group.text(
        "otlp_endpoint", "", "https URL of the collector that receives traces (OTLP over gRPC); empty: no traces")
      if !url.isEmpty {
        switch ServerAddress.parse(url, usualPort: TracingSettings.usualPort) {
        case .success(let collector): tracing.collector = collector
        case .failure(let fault): throw group.wrong("otlp_endpoint", fault.why)
        }
      }
      tracing.authorityFile = path(
        try group.text("ca_file", "", "PEM CA certificates of the collector; empty: those of the system"))
      tracing.certificateFile = path(
        try group.text("certificate_file", "", "PEM certificate that the server presents to the collector"))
      tracing.keyFile = path(try group.text("key_file", "", "PEM private key of that certificate"))
      tracing.sampleRatio = try group.share("sample_ratio", 0.01, "share of the traces that begin here to export")
      tracing.followsCallers = try group.flag(
        "follow_callers", true, "export a trace of an identified caller if and only if the caller samples it")
      guard tracing.certificateFile.isEmpty == tracing.keyFile.isEmpty else {
        let (set, missing) =
          tracing.keyFile.isEmpty ? ("certificate_file", "key_file") : ("key_file", "certificate_file")
        throw group.wrong(set, "it must be set together with \(missing)")
      }
    }
  }
}
