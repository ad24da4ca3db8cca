import Observability
import Synchronization
import Testing

@testable import HTTP1

private let limits = HTTPSite.Limits(
  connectionsMax: 1, connectionsPerAddressMax: 1, requestBytesMax: 1, requestMillis: 1)

private func answer(_ path: String, method: String = "GET", live: String? = nil, ready: String? = nil) -> HTTPResponse {
  let site = HTTPSite.metrics(ServerMetrics(MetricsRegistry()), HealthProbes(live: { live }, ready: { ready }), limits)
  return site.answer(HTTPRequest(method: method, path: path))
}

@Test func `livez and readyz answer 200, or 503 with the reason in one line`() {
  #expect(answer("/livez").status == .ok && answer("/livez").body == "live\n")
  #expect(answer("/readyz").status == .ok && answer("/readyz").body == "ready\n")
  let failed = answer("/readyz", ready: "the store is corrupt")
  #expect(failed.status == .serviceUnavailable && failed.body == "not ready: the store is corrupt\n")
  #expect(answer("/livez", ready: "the store is corrupt").status == .ok)
  let stalled = answer("/livez", live: "1 event loops have not answered for 10 s")
  #expect(stalled.status == .serviceUnavailable && stalled.body.hasPrefix("not live: 1 event loops"))
  #expect(answer("/readyz", live: "stalled").status == .ok)
}

@Test func `the probes accept GET and HEAD at their own paths only`() {
  #expect(answer("/readyz", method: "HEAD").status == .ok)
  #expect(answer("/readyz", method: "POST").status == .methodNotAllowed)
  for path in ["/readyz/", "/healthz", "/livez1", "/"] { #expect(answer(path).status == .notFound, "\(path)") }
}
