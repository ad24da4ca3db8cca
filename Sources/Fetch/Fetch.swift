// Fetch: HTTPS towards identity providers and webhooks, and SMTP towards a mail relay.
//
// Owns: libcurl (its only importer), when a fetch may begin (how many at once, and whether its provider is left alone),
// and what it may cost or reach: https only, no redirects, bounded request, answer and time, no private addresses.
// Does not own: the thread that turns a driver (Server has it on its reactors), what a body means, how long it is kept,
// or whether to ask again; Providers decides that.
// Read next: CurlFetcher.swift (the surface), Lane.swift and Breaker.swift (whose turn it is), Driver.swift (libcurl on
// a reactor), AddressRule.swift (what may be reached).

/// Small requests over HTTPS; a protocol so that tests script the provider's answers.
package protocol HTTPSFetching: Sendable {
  /// The answer with any status but a redirect; everything else is a `FetchError`.
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
    /// May be a secret; never in a log.
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Its query may hold a secret; never in a log.
  package var url: String
  /// Whose concurrency and circuit breaker it counts for.
  package var provider: String
  package var fields: [Field]
  /// nil: GET; else POST of these bytes, whose type is among the fields.
  package var body: [UInt8]?

  package init(_ url: String, for provider: String = "", fields: [Field] = [], body: [UInt8]? = nil) {
    self.url = url
    self.provider = provider
    self.fields = fields
    self.body = body
  }
}

package struct FetchedBody: Hashable, Sendable {
  package var status: Int
  /// As received, or empty.
  package var contentType: String
  /// How long the answer may be kept (RFC 9111, 5.2.2); nil where it does not say.
  package var maxAgeSeconds: Int?
  /// The server's clock, in seconds since 1970 (RFC 9110, 6.6.1); nil where the answer does not say.
  package var dateSeconds: Int64?
  /// Decoded, where it came compressed. May hold tokens; never in a log.
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

/// A fetch that brought no answer.
package enum FetchError: Error, Hashable, Sendable {
  /// Not an absolute https URL of printable ASCII without user information.
  case refusedURL
  /// A field's name is no token, its value has a character that ends a line, or the fetcher sets the field itself.
  case refusedField
  /// The request's body or its fields are larger than allowed.
  case requestTooLarge
  /// The host resolves to a private address, and is not one of those that may.
  case refusedAddress
  /// The server answered with a redirect. Following one would leave the configured host.
  case redirected
  /// The head or the body, decoded where it came compressed, is larger than allowed, or was compressed more than once.
  case tooLarge
  case timedOut
  /// The server's certificate does not lead to a trusted authority, names another host, or is over; the text is for the
  /// log.
  case untrusted(String)
  /// No connection or a broken answer; the text is for the log.
  case unreachable(String)
  /// A relay refused our login, or our address as the sender's, with this status: it says nothing about a mail.
  case rejected(Int)
  /// Too many fetches from the provider are waiting already.
  case overloaded
  /// The provider has failed again and again, and is left alone for a while.
  case circuitOpen
  /// The fetcher was closed.
  case closed
}

// What is printed, whoever prints it, shows neither a field's value nor a query nor a body.

extension FetchRequest: CustomStringConvertible, CustomReflectable {
  package var description: String { "\(body == nil ? "GET" : "POST") \(url.prefix { $0 != "?" && $0 != "#" })" }
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
