package import HTTPClient

/// Fetchers for message delivery. A mail blocks its thread, so mails have threads of their own.
package struct DeliveryFetchers: Sendable {
  /// Fetcher for SMTP; `nil` if no message uses SMTP.
  package var mails: CurlFetcher?
  /// Number of SMTP drivers.
  package var mailsMax = 0
  /// Fetcher for webhooks; `nil` if no message uses one.
  package var webhook: CurlFetcher?

  package init() {}

  package func startThreads() throws -> [FetchThread] {
    let forMails = try mails.map { mails in
      try (0..<mailsMax).map { try FetchThread(mails, driver: $0, named: "delivery-\($0)") }
    }
    return try (forMails ?? []) + (webhook.map { [try FetchThread($0, driver: 0, named: "delivery-0")] } ?? [])
  }
}
