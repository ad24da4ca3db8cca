package struct FetchSettings: Sendable {
  /// PEM file with the only trusted authorities. nil: the authorities of the system.
  package var caFile: String?
  /// Lower-case host names, and IP addresses without brackets, that may be private, loopback or link-local.
  /// `CurlFetcher.allow` replaces them.
  package var privateHosts: Set<String> = []
  package var userAgent = "latchkey"
  package var limits = FetchLimits()

  package init() {}
}

/// Limits of fetches, per provider unless stated otherwise.
package struct FetchLimits: Sendable {
  // Limits of one fetch.
  /// Maximum time from the call to the response, including waiting and name resolution.
  package var totalTimeMillis = 5_000
  package var requestBodyBytesMax = 64 * 1024
  /// Maximum size of all field names and values of the request.
  package var requestFieldsBytesMax = 16 * 1024
  /// Maximum size of the response header. libcurl limits only each header line.
  package var answerHeadBytesMax = 32 * 1024
  package var answerBodyBytesMax = 256 * 1024
  /// Maximum number of compressions of a response. libcurl decodes nested codings in a single step: 16 KiB can expand
  /// to gigabytes without any output.
  package var answerCodingsMax = 1
  /// Maximum number of Cache-Control fields. libcurl searches for each field from the start. A response with more
  /// fields is not cached.
  package var cacheControlFieldsMax = 16

  // Limits of one provider.
  /// Maximum number of running fetches on all reactors.
  package var perProviderMax = 16
  /// Maximum number of waiting fetches. Further fetches fail immediately.
  package var waitingPerProviderMax = 64
  /// Number of consecutive failures that opens the circuit breaker.
  package var failuresMax = 5
  /// Time for which the circuit breaker stays open.
  package var pauseMillis = 5_000

  // Limits of one reactor.
  /// Maximum number of idle connections kept for the next fetch.
  package var connectionsKeptMax = 64

  package init() {}
}
