package import Observability

extension HTTPSite {
  /// Creates the site that serves the metrics as text over plain HTTP.
  package static func metrics(_ metrics: ServerMetrics, _ limits: Limits) -> HTTPSite {
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
        let exposition = {
          HTTPResponse(status: .ok, contentType: Exposition.contentType, body: metrics.registry.exposition())
        }
        return request.answered(by: request.path == "/metrics" ? exposition : nil)
      })
  }
}
