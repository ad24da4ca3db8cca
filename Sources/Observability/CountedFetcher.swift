package import HTTPClient

/// Fetcher that counts the result of each request to an identity provider.
package struct CountedFetcher: HTTPSFetching {
  private let fetcher: any HTTPSFetching
  private let metrics: ServerMetrics

  package init(fetcher: any HTTPSFetching, metrics: ServerMetrics) {
    self.fetcher = fetcher
    self.metrics = metrics
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    do {
      let body = try await fetcher.fetch(request)
      metrics.fetched(FetchEnd(body), from: request.provider)
      return body
    } catch let error as FetchError {
      metrics.fetched(FetchEnd(error), from: request.provider)
      if error == .overloaded { metrics.refused(.fetchQueue) }
      throw error
    }
  }
}
