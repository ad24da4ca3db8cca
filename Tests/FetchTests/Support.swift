import Reactor
import Testing

@testable import Fetch

/// A fetcher on reactors of its own, which end with it.
final class RunningFetcher: HTTPSFetching {
  let fetcher: CurlFetcher
  let reactors: [FetchReactor]

  init(_ settings: FetchSettings, reactors count: Int = 1) throws {
    fetcher = try CurlFetcher(settings, drivers: count)
    ignoreBrokenPipes()
    reactors = try (0..<count).map { [fetcher] in try FetchReactor(fetcher, $0) }
  }

  deinit { for reactor in reactors { reactor.end() } }

  func fetch(_ request: FetchRequest) async throws -> FetchedBody { try await fetcher.fetch(request) }
}

/// One reactor with a driver, as the server's workers have it.
final class FetchReactor: Sendable {
  enum Letter: Sendable { case end }

  let mailbox: Mailbox<Letter>
  private let ended = Wakeups()

  init(_ fetcher: CurlFetcher, _ index: Int) throws {
    mailbox = try Mailbox()
    startThread(named: "fetch-\(index)") { [mailbox, ended] in
      if let driver = try? Turning(mailbox, fetcher.driver(index)) { driver.run() }
      ended.signal()
    }
  }

  func end() { mailbox.post(.end) }

  /// Ends it, and returns when it has.
  func endAndWait() {
    end()
    ended.wait()
    ended.signal()
  }
}

private final class Turning: ReactorDriver {
  private let reactor: Reactor<Turning>
  private let driver: FetchDriver

  init(_ mailbox: Mailbox<FetchReactor.Letter>, _ driver: FetchDriver) throws {
    self.driver = driver
    reactor = try Reactor(mailbox: mailbox)
    try reactor.watch(driver.descriptor, Ticket(slot: 0, generation: 0), read: true, write: false)
  }

  func run() {
    reactor.run(self)
    driver.close()
  }

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) { driver.turn() }
  func timerFired(_ ticket: Ticket, kind: UInt32) {}
  func received(_ letter: FetchReactor.Letter) { reactor.stop() }
  func decide() {}
  func endTurn() {}
  var hasLeftovers: Bool { false }
}

/// Fetches from the local server, with what the tests of one rule change of the settings.
func fetcher(reactors: Int = 1, _ change: (inout FetchSettings) -> Void = { _ in }) throws -> RunningFetcher {
  var settings = FetchSettings()
  settings.caFile = LocalServer.shared.caFile
  settings.privateHosts = ["localhost"]
  change(&settings)
  return try RunningFetcher(settings, reactors: reactors)
}

func get(_ path: String, _ change: (inout FetchSettings) -> Void = { _ in }) async throws -> FetchedBody {
  let fetcher = try fetcher(change)
  return try await fetcher.get(LocalServer.shared.url(path))
}

/// What came of so many fetches at once; nil is an answer.
func outcomes(
  of count: Int, _ fetcher: RunningFetcher, _ path: String, for provider: String = ""
) async -> [FetchError?] {
  await withTaskGroup(of: FetchError?.self) { group in
    for _ in 0..<count {
      group.addTask {
        do {
          _ = try await fetcher.get(LocalServer.shared.url(path), for: provider)
          return nil
        } catch { return error as? FetchError }
      }
    }
    return await group.reduce(into: []) { $0.append($1) }
  }
}

/// - Parameter word: of what the log is told.
func isUntrusted(_ error: any Error, _ word: String) -> Bool {
  if case .untrusted(let why) = error as? FetchError { why.contains(word) } else { false }
}

func isUnreachable(_ error: any Error) -> Bool {
  if case .unreachable = error as? FetchError { true } else { false }
}
