// Fetch: HTTPS towards identity providers.
//
// Owns: libcurl (its only importer), the thread that drives it, and what a fetch may cost or reach: https only, no
// redirects, bounded body, time and parallelism, no private addresses.
// Does not own: what a body means, how long it is kept, or whether to ask again; Providers decides that.
// Read next: CurlFetcher.swift (the surface), Driver.swift (the thread), AddressRule.swift (what may be reached).

/// Gets small documents over HTTPS; a protocol so that tests script the provider's answers.
package protocol HTTPSFetching: Sendable {
  /// The answer with any status but a redirect; everything else is a `FetchError`.
  func get(_ url: String) async throws -> FetchedBody
}

package struct FetchedBody: Hashable, Sendable {
  package var status: Int
  /// As received, or empty.
  package var contentType: String
  /// How long the answer may be kept (RFC 9111, 5.2.2); nil where it does not say.
  package var maxAgeSeconds: Int?
  package var bytes: [UInt8]

  package init(status: Int, contentType: String = "", maxAgeSeconds: Int? = nil, bytes: [UInt8]) {
    self.status = status
    self.contentType = contentType
    self.maxAgeSeconds = maxAgeSeconds
    self.bytes = bytes
  }
}

/// A fetch that brought no answer.
package enum FetchError: Error, Hashable, Sendable {
  /// Not an absolute https URL of printable ASCII without user information.
  case refusedURL
  /// The host resolves to a private address, and is not one of those that may.
  case refusedAddress
  /// The server answered with a redirect. Following one would leave the configured host.
  case redirected
  /// The head or the body is larger than allowed.
  case tooLarge
  case timedOut
  /// The server's certificate does not lead to a trusted authority, or names another host.
  case untrusted
  /// No connection or a broken answer; the text is for the log.
  case unreachable(String)
  /// Too many fetches are waiting already.
  case overloaded
  /// The fetcher was closed.
  case closed
}

package struct FetchSettings: Hashable, Sendable {
  /// PEM file with the only authorities to trust; nil: those of the system.
  package var caFile: String?
  package var bodyBytesMax = 256 * 1024
  /// From the call to the answer, waiting and name resolution included.
  package var totalTimeMillis = 5000
  package var perHostMax = 4
  package var waitingMax = 256
  /// Lower-case host names that may resolve to private, loopback or link-local addresses.
  package var privateHosts: Set<String> = []
  package var userAgent = "latchkey"

  package init() {}
}
