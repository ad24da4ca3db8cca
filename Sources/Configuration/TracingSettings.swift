/// Export of traces to a collector.
package struct TracingSettings: Hashable, Sendable {
  /// The collector; nil: no traces are exported.
  package struct Collector: Hashable, Sendable {
    package var host: String
    package var port: UInt16
    /// Whether the connection has no TLS.
    package var isPlain: Bool
  }

  package var collector: Collector?
  package var authorityFile = ""
  package var certificateFile = ""
  package var keyFile = ""
  package var sampleRatio = 0.01
  package var followsCallers = true

  private static let usualPort: UInt16 = 4_317
  private static let loopback = ["localhost", "127.0.0.1", "[::1]"]

  /// Reads `https://HOST:PORT`, or `http://HOST:PORT` of this machine. Returns what is wrong otherwise.
  static func collector(_ text: String) -> Result<Collector, Fault> {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(parts[0]) else {
      return .failure(Fault(why: "it must begin with https:// or http://"))
    }
    let address = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
    let colon = address.last == "]" ? nil : address.lastIndex(of: ":")
    let host = colon.map { address[..<$0] } ?? address
    guard let port = colon.map({ UInt16(address[address.index(after: $0)...]) }) ?? usualPort, port > 0,
      !host.isEmpty, !host.contains(where: { "/?#@ ".contains($0) })
    else { return .failure(Fault(why: "it must be a URL of a host and a port, without a path")) }
    let isPlain = parts[0] == "http"
    guard !isPlain || loopback.contains(String(host)) else {
      return .failure(Fault(why: "http:// is only for a collector on this machine; use https://"))
    }
    let name = host.hasPrefix("[") ? host.dropFirst().dropLast() : host
    return .success(Collector(host: String(name), port: port, isPlain: isPlain))
  }

  struct Fault: Error, Hashable {
    var why: String
  }
}

extension Settings {
  mutating func readTracing(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("tracing") { group throws(ConfigurationError) in
      let url = try group.text(
        "otlp_endpoint", "", "https URL of the collector that receives traces (OTLP over gRPC); empty: no traces")
      if !url.isEmpty {
        switch TracingSettings.collector(url) {
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
