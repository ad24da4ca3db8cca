package import Observability

/// The checks behind `/livez` and `/readyz`. Each returns the reason why it fails, in one line; `nil` if it passes.
package struct HealthProbes: Sendable {
  /// Whether the process works. A supervisor restarts a process that fails.
  let live: @Sendable () -> String?
  /// Whether the server answers calls. A load balancer sends no calls to a server that fails.
  let ready: @Sendable () -> String?

  package init(live: @escaping @Sendable () -> String?, ready: @escaping @Sendable () -> String?) {
    self.live = live
    self.ready = ready
  }
}

extension HTTPSite {
  /// Creates the site that serves the metrics and the health as text over plain HTTP.
  package static func metrics(_ metrics: ServerMetrics, _ probes: HealthProbes, _ limits: Limits) -> HTTPSite {
    HTTPSite(
      name: "metrics", limits: limits, tls: nil,
      refused: { refusal in
        switch refusal {
        case .connections: metrics.refused(.metricsConnections)
        case .request: metrics.refused(.metricsRequest)
        case .time: metrics.refused(.metricsTime)
        case .descriptors: metrics.reached(.descriptors)
        }
      },
      answer: { request in
        switch request.path {
        case "/metrics":
          request.answered {
            HTTPResponse(status: .ok, contentType: Exposition.contentType, body: metrics.registry.exposition())
          }
        case "/livez": request.answered { .health(of: probes.live, passed: "live") }
        case "/readyz": request.answered { .health(of: probes.ready, passed: "ready") }
        default: request.answered(by: nil)
        }
      })
  }
}

extension HTTPResponse {
  static func health(of check: () -> String?, passed: String) -> HTTPResponse {
    guard let fault = check() else { return HTTPResponse(status: .ok, body: passed + "\n") }
    return HTTPResponse(status: .serviceUnavailable, body: "not \(passed): \(fault)\n")
  }
}
