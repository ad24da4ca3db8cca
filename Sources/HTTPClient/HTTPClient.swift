// HTTPClient: HTTPS to identity providers and webhooks, and SMTP to a mail relay.
//
// Owns: libcurl (its only importer), the start of a fetch (concurrency limits and circuit breakers), and what a fetch
// may cost or reach: https only, no redirects, bounded request, response and time, no private addresses.
// Does not own: event loops (Reactor; Server runs most drivers on its reactors), the meaning of a body, caching,
// retries (Providers).
// Read next: CurlFetcher.swift (the interface), ProviderQueue.swift and Breaker.swift (the start of a fetch),
// Driver.swift (libcurl on a reactor), AddressRule.swift (reachable addresses).

/// A client for small HTTPS requests. A protocol, so that tests can script the provider's responses.
package protocol HTTPSFetching: Sendable {
  /// Returns the response, with any status except a redirect. Every other outcome is a `FetchError`.
  func fetch(_ request: FetchRequest) async throws -> FetchedBody
}

extension HTTPSFetching {
  package func get(_ url: String, for provider: String = "") async throws -> FetchedBody {
    try await fetch(FetchRequest(url, for: provider))
  }
}

package struct FetchRequest: Hashable, Sendable {
  package struct Field: Hashable, Sendable {
    package var name: String
    /// May be a secret: never log it.
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package enum Method: String, Hashable, Sendable {
    case get = "GET"
    case post = "POST"
    case delete = "DELETE"
  }

  package var method: Method
  /// The query may contain a secret: never log it.
  package var url: String
  /// The provider whose concurrency limit and circuit breaker apply.
  package var provider: String
  package var fields: [Field]
  /// `fields` contains its content type. A GET request has none.
  package var body: [UInt8]?

  /// - Parameter method: nil: GET, or POST with a body.
  package init(
    _ url: String, for provider: String = "", fields: [Field] = [], body: [UInt8]? = nil, method: Method? = nil
  ) {
    self.method = method ?? (body == nil ? .get : .post)
    self.url = url
    self.provider = provider
    self.fields = fields
    self.body = body
  }
}

package struct FetchedBody: Hashable, Sendable {
  package var status: Int
  /// The Content-Type as received, or empty.
  package var contentType: String
  /// How long the response may be cached (RFC 9111, 5.2.2). nil: not specified.
  package var maxAgeSeconds: Int?
  /// The server's time in seconds since 1970 (RFC 9110, 6.6.1). nil: not specified.
  package var dateSeconds: Int64?
  /// The decompressed body. It may contain tokens: never log it.
  package var bytes: [UInt8]

  package init(
    status: Int, contentType: String = "", maxAgeSeconds: Int? = nil, dateSeconds: Int64? = nil, bytes: [UInt8]
  ) {
    self.status = status
    self.contentType = contentType
    self.maxAgeSeconds = maxAgeSeconds
    self.dateSeconds = dateSeconds
    self.bytes = bytes
  }
}

/// The reason for a fetch without a response.
package enum FetchError: Error, Hashable, Sendable {
  /// The URL is not an absolute https URL of printable ASCII without user information.
  case refusedURL
  /// A field's name is not a token, its value contains a line break, or the fetcher sets the field itself.
  case refusedField
  /// The request's body or its fields exceed the limit.
  case requestTooLarge
  /// The host resolves to a private address, and the configuration does not allow that.
  case refusedAddress
  /// The server answered with a redirect. Following one would leave the configured host.
  case redirected
  /// The response header or the decompressed body exceeds the limit, or the body was compressed more than once.
  case tooLarge
  case timedOut
  /// The server's certificate is expired, names another host, or is not from a trusted authority. The text is for the
  /// log.
  case untrusted(String)
  /// No connection, or an invalid response. The text is for the log.
  case unreachable(String)
  /// A relay rejected our login or our sender address with this status. This is not a statement about the mail.
  case rejected(Int)
  /// Too many fetches are already waiting for the provider.
  case overloaded
  /// The provider has failed repeatedly, and its circuit breaker is open.
  case circuitOpen
  /// The fetcher was closed.
  case closed
}

// Printed values never contain a field's value, a query or a body.

extension FetchRequest: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(method.rawValue) \(url.prefix { $0 != "?" && $0 != "#" })" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension FetchRequest.Field: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(name): …" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension FetchedBody: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(status) \(contentType), \(bytes.count) bytes" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
