internal import Configuration
internal import Reactor
internal import Store

/// Detects a change of files that is complete: two checks in a row find the same new contents.
struct SettledChange {
  private var last: Digest?

  /// Returns whether the present contents differ from the attempted ones, and are those of the previous check.
  mutating func saw(_ present: Digest, attempted: Digest) -> Bool {
    defer { last = present }
    return present != attempted && present == last
  }
}

/// Periodic check of the configuration file and of the files that it names, as far as a reload reads them.
struct ConfigurationWatch: Sendable {
  let reload: ConfigurationReload

  /// The periodic check as a part of the server. Its task ends immediately if the check is disabled.
  func part(_ settings: Settings, stopMillis: Int64) -> TaskPart {
    TaskPart("configuration", stopMillis: stopMillis) { start(everyMillis: settings.watchMillis) }
  }

  /// Starts the check; cancel the task to end it.
  private func start(everyMillis: Int64) -> Task<Void, Never> {
    Task.detached {
      guard everyMillis > 0 else { return }
      var change = SettledChange()
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(everyMillis) * 1_000_000) } catch { return }
        await look(&change)
      }
    }
  }

  private func look(_ change: inout SettledChange) async {
    // Without a thread, the next check tries again.
    guard let (attempted, present) = try? await onThread(named: "watch", { reload.fingerprints }),
      change.saw(present, attempted: attempted)
    else { return }
    try? await onThread(named: "reload") { reload.reload() }
  }
}
