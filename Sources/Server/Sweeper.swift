/// Removes what is over, from time to time, in small portions so that no caller's commit waits long behind them. Each
/// part goes by itself: one that fails holds up no other.
struct Sweeper: Sendable {
  struct Part: Sendable {
    let name: String
    /// As long as so many went, there may be more.
    let portion: Int
    /// Says how many went.
    let remove: @Sendable (_ most: Int) async throws -> Int
  }

  let parts: [Part]
  let log: Log
  var restMillis: UInt64 = 30_000

  /// Until it is cancelled.
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
        // The store of a server that ends may be closed already.
        guard !Task.isCancelled else { return }
        log.error("the sweep failed", ["what": part.name, "why": "\(error)"])
      }
      try? await Task.sleep(nanoseconds: restMillis * 1_000_000)
    }
  }
}
