import HTTPClient
import Logging
import Testing

@testable import Observability
@testable import Server

@Test func `the breakers of all configured providers are reported from the start`() throws {
  let registry = MetricsRegistry()
  Gauges(registry: registry).reportBreakers(of: { ["yahoo.com", "github.com"] }, try CurlFetcher(drivers: 1))
  let told = registry.exposition().split(separator: "\n").filter { $0.hasPrefix("latchkey_fetch_breaker") }
  #expect(
    told == [
      "latchkey_fetch_breaker_open{provider=\"github.com\"} 0", "latchkey_fetch_breaker_open{provider=\"yahoo.com\"} 0",
      "latchkey_fetch_breaker_openings_total{provider=\"github.com\"} 0",
      "latchkey_fetch_breaker_openings_total{provider=\"yahoo.com\"} 0",
    ])
}

@Test func `the metrics contain the number of dropped log lines`() {
  let registry = MetricsRegistry()
  Gauges(registry: registry).reportLog(Log(JSONLines(level: .critical, descriptor: 2)))
  #expect(registry.exposition().contains("latchkey_log_lines_dropped_total 0\n"))
}
