import Configuration
import GRPC
import LogSupport
import Logging
import Observability
import Reactor
import Testing

@testable import Server

private func settings(collectorPort port: UInt16) throws -> Settings {
  let tls = "tls: { certificate_file: \"server.pem\", key_file: \"server.key\" }"
  let tracing = "tracing: { otlp_endpoint: \"http://127.0.0.1:\(port)\" }"
  return try Settings.parse(Array("{ \(tls), \(tracing) }".utf8), folder: "/etc/latchkey", environment: [:])
}

@Test(arguments: [0, 1_500])
func `a collector that accepts and never answers neither fails the stop nor keeps it waiting`(
  exportingMillis: Int
) async throws {
  // The kernel accepts the connection, but no collector answers.
  let silent = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
  defer { withExtendedLifetime(Listening(silent)) {} }
  var tookMillis = Int64.max
  // A busy machine may delay a stop by seconds.
  for _ in 0..<3 where tookMillis >= 4_000 {
    let told = try await lines(level: .warning) { log in
      let tracer = CallTracer(TraceSampler(ratio: 1, followsCallers: true))
      let parts = PartList(parts: try settings(collectorPort: silent.port).exporterParts(tracer.buffer, log))
      try await parts.start()
      tracer.start(call: "/a.B/C", .none).end(.ok, requestID: "r")
      try await Task.sleep(for: .milliseconds(exportingMillis))
      let begun = monotonicMillis()
      let limits = Shutdown.Limits(lateMillis: 60_000, totalMillis: 60_000)
      #expect(await Shutdown(log, limits).run(parts) {})
      tookMillis = monotonicMillis() - begun
    }
    let expected = ["traces cannot be exported", "the last traces are not exported"]
    #expect(!told.isEmpty && told.allSatisfy { expected.contains($0["message"] ?? "") })
  }
  #expect(tookMillis < 4_000, "shorter than the time for one export of a running server")
}
