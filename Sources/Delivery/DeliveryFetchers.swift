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

  /// Starts the threads of all fetchers. If one cannot start, stops the others and throws the error.
  /// - Parameter start: starts a thread for a driver of a fetcher. For tests.
  package func startThreads(
    _ start: (CurlFetcher, _ driver: Int, _ name: String) throws -> FetchThread = {
      try FetchThread($0, driver: $1, named: $2)
    }
  ) throws -> [FetchThread] {
    var threads: [FetchThread] = []
    do {
      if let mails {
        for index in 0..<mailsMax { threads.append(try start(mails, index, "mail-\(index)")) }
      }
      if let webhook { threads.append(try start(webhook, 0, "webhook")) }
    } catch {
      for thread in threads { thread.stop() }
      throw error
    }
    return threads
  }
}
