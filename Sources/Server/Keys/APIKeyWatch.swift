internal import Callers
internal import Encodings
internal import Observability
internal import Reactor
internal import Store

/// Daily warnings about API keys that have expired or soon will. The first check is a day after the start, whose
/// warnings are those of the settings.
struct APIKeyWatch: Sendable {
  private static let pauseNanos: UInt64 = 86_400_000_000_000

  let keys: @Sendable () -> [APIKey]
  let log: Log

  /// Starts the daily check; cancel the task to end it.
  func start() -> Task<Void, Never> {
    Task.detached {
      while true {
        do { try await Task.sleep(nanoseconds: APIKeyWatch.pauseNanos) } catch { return }
        look(now: Timestamp(millis: wallMillis()))
      }
    }
  }

  func look(now: Timestamp) {
    for key in keys() where key.endsSoon(at: now) {
      guard let end = key.notAfter else { continue }
      log.warning(
        key.isExpired(at: now) ? "an API key has expired" : "an API key expires soon",
        ["caller": key.caller.text, "key": key.name, "not_after": rfc3339(end.millis)])
    }
  }
}
