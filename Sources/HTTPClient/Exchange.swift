/// A fetch with its waiting caller.
struct Exchange: Sendable {
  let job: FetchJob
  let deadline: ContinuousClock.Instant
  /// The number of the thread that requested the fetch, or that sends the mail.
  var home: Int
  let continuation: CheckedContinuation<FetchedBody, any Error>
  var isTrial = false

  func end(_ result: Result<FetchedBody, FetchError>) { continuation.resume(with: result.mapError { $0 as any Error }) }
}
