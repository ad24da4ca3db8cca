internal import Observability

/// Periodic removal of expired rows, in small portions so that no caller's commit waits long. The parts run
/// independently: a failed part does not delay the others.
struct Sweeper: Sendable {
  struct Part: Sendable {
    let name: String
    /// Maximum number of rows a step. A full step means that more rows may be left.
    let portion: Int
    /// Removes up to `most` rows; returns the number of removed rows.
    let remove: @Sendable (_ most: Int) async throws -> Int
  }

  let parts: [Part]
  let log: Log
  var restMillis: UInt64 = 30_000

  /// Runs all parts until the task is cancelled.
  func run() async {
    await withDiscardingTaskGroup { group in
      for part in parts { group.addTask { await run(part) } }
    }
  }

  private func run(_ part: Part) async {
    while !Task.isCancelled {
      do {
        if try await part.remove(part.portion) >= part.portion { continue }
      } catch {
        log.error("the sweep failed", ["what": part.name, "why": "\(error)"])
      }
      try? await Task.sleep(nanoseconds: restMillis * 1_000_000)
    }
  }
}
