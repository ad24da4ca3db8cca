import HTTPClient
import Reactor
import Testing

@testable import Delivery

private struct Broken: Error {}

@Test func `if a delivery thread cannot start, the others are stopped`() async throws {
  var fetchers = DeliveryFetchers()
  fetchers.mails = try CurlFetcher(FetchSettings(), mailsMax: 2)
  fetchers.mailsMax = 2
  fetchers.webhook = try CurlFetcher(drivers: 1)
  var started: [(name: String, thread: FetchThread)] = []
  #expect(throws: Broken.self) {
    try fetchers.startThreads { fetcher, driver, name in
      guard name != "webhook" else { throw Broken() }
      let thread = try FetchThread(fetcher, driver: driver, named: name)
      started.append((name, thread))
      return thread
    }
  }
  #expect(started.map(\.name) == ["mail-0", "mail-1"])
  for (_, thread) in started { #expect(await thread.ended.wait(millis: 10_000)) }
}
