import Reactor
import Testing

@testable import HTTPClient

/// A fetcher on its own reactors, which end with it.
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

/// One reactor with a driver, like the server's workers.
final class FetchReactor: Sendable {
  enum Command: Sendable { case end }

  let commandQueue: CommandQueue<Command>
  private let ended = Wakeups()

  init(_ fetcher: CurlFetcher, _ index: Int) throws {
    commandQueue = try CommandQueue()
    startThread(named: "fetch-\(index)") { [commandQueue, ended] in
      if let driver = try? Turning(commandQueue, fetcher.driver(index)) { driver.run() }
      ended.signal()
    }
  }

  func end() { commandQueue.post(.end) }

  /// Ends the reactor and waits for its end.
  func endAndWait() {
    end()
    ended.wait()
    ended.signal()
  }
}

private final class Turning: ReactorDriver {
  private let reactor: Reactor<Turning>
  private let driver: FetchDriver

  init(_ commandQueue: CommandQueue<FetchReactor.Command>, _ driver: FetchDriver) throws {
    self.driver = driver
    reactor = try Reactor(commandQueue: commandQueue)
    try reactor.watch(driver.descriptor, Ticket(slot: 0, generation: 0), read: true, write: false)
  }

  func run() {
    reactor.run(self)
    driver.close()
  }

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) { driver.turn() }
  func timerFired(_ ticket: Ticket, kind: UInt32) {}
  func received(_ command: FetchReactor.Command) { reactor.stop() }
  func decide() {}
  func endTurn() {}
  var hasLeftovers: Bool { false }
}

/// Fetches from the local server, with changes to the settings.
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

/// The outcomes of this many concurrent fetches; nil is an answer.
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

/// - Parameter word: A word of the log text.
func isUntrusted(_ error: any Error, _ word: String) -> Bool {
  if case .untrusted(let why) = error as? FetchError { why.contains(word) } else { false }
}

func isUnreachable(_ error: any Error) -> Bool {
  if case .unreachable = error as? FetchError { true } else { false }
}
