internal import HTTPClient

/// Fetcher that counts the result of each request to an identity provider.
struct CountedFetcher: HTTPSFetching {
  let fetcher: any HTTPSFetching
  let metrics: ServerMetrics

  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
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
