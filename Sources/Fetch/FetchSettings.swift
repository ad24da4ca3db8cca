package struct FetchSettings: Sendable {
  /// PEM file with the only authorities to trust; nil: those of the system.
  package var caFile: String?
  /// Lower-case host names, and addresses without brackets, that may be private, loopback or link-local.
  package var privateHosts: Set<String> = []
  package var userAgent = "latchkey"
  package var limits = FetchLimits()

  package init() {}
}

/// What fetches may cost, of one provider where it does not say otherwise.
package struct FetchLimits: Sendable {
  // One fetch.
  /// From the call to the answer, waiting and name resolution included.
  package var totalTimeMillis = 5_000
  package var requestBodyBytesMax = 64 * 1024
  /// Names and values of the request's fields.
  package var requestFieldsBytesMax = 16 * 1024
  /// libcurl bounds a line of the head, not the head.
  package var answerHeadBytesMax = 32 * 1024
  package var answerBodyBytesMax = 256 * 1024
  /// What it may be compressed by. libcurl undoes one within the other in a single step: 16 KiB can become gigabytes of
  /// which nothing comes out.
  package var answerCodingsMax = 1
  /// libcurl looks for each from the first on: of more, none is believed.
  package var cacheControlFieldsMax = 16

  // One provider.
  /// Fetches under way, whichever reactor they are on.
  package var perProviderMax = 16
  /// Fetches that wait for one of those to end; past it they are refused at once.
  package var waitingPerProviderMax = 64
  /// Failures without an answer between them after which the provider is left alone.
  package var failuresMax = 5
  /// For how long it is.
  package var pauseMillis = 5_000

  // One reactor.
  /// Connections that are kept open for the next fetch.
  package var connectionsKeptMax = 64

  package init() {}
}
