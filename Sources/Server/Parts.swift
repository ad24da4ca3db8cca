/// A component of the server with threads, tasks or files of its own.
protocol Part: Sendable {
  /// Name in the log.
  var name: String { get }

  /// Starts the part. Returns when it works, or throws when it has left nothing behind.
  func start() throws

  /// Accepts no more work, and finishes what has begun. The parts that started earlier still work.
  func drain() async

  /// Ends the part. The server calls it once after `drain`, or without `drain` when a later part cannot start.
  func stop() async
}

extension Part {
  func start() throws {}
  func drain() async {}
  func stop() async {}
}

/// The parts of the server in the order in which they start. They drain and stop in the reverse order.
struct PartList: Sendable {
  let parts: [any Part]

  /// Starts all parts. If one fails, stops those that started, in reverse order, and throws the error.
  func start() async throws {
    for (index, part) in parts.enumerated() {
      do {
        try part.start()
      } catch {
        for started in parts[..<index].reversed() { await started.stop() }
        throw error
      }
    }
  }

  /// Drains all parts, then stops them: no part ends while another may still need it.
  func drainAndStop() async {
    for part in parts.reversed() { await part.drain() }
    for part in parts.reversed() { await part.stop() }
  }
}
