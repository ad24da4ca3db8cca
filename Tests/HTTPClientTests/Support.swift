import Reactor
import Testing

@testable import HTTPClient

/// A fetcher on its own threads, which end with it.
final class RunningFetcher: HTTPSFetching {
  let fetcher: CurlFetcher
  let threads: [FetchThread]

  init(_ settings: FetchSettings, reactors count: Int = 1) throws {
    fetcher = try CurlFetcher(settings, drivers: count)
    ignoreBrokenPipes()
    threads = try (0..<count).map { [fetcher] in try FetchThread(fetcher, driver: $0, named: "fetch-\($0)") }
  }

  deinit { for thread in threads { thread.stop() } }

  func fetch(_ request: FetchRequest) async throws -> FetchedBody { try await fetcher.fetch(request) }

  /// Stops a thread and waits for its end.
  func stop(_ index: Int) async {
    threads[index].stop()
    await threads[index].ended.wait()
  }
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
