internal import Fetch

/// Counts what came of each fetch from an identity provider.
struct CountedFetcher: HTTPSFetching {
  let fetcher: any HTTPSFetching
  let metrics: ServerMetrics

  func get(_ url: String) async throws -> FetchedBody {
    do {
      let body = try await fetcher.get(url)
      metrics.fetched(.answered)
      return body
    } catch let error as FetchError {
      metrics.fetched(FetchEnd(error))
      if error == .overloaded { metrics.refused(.fetchQueue) }
      throw error
    }
  }
}
