/// A component of the server with threads, tasks or files of its own.
protocol Part: Sendable {
  /// Name in the log.
  var name: String { get }

  /// Starts the part. Returns when it works, or throws when it has left nothing behind.
  func start() throws

  /// Accepts no more work, and finishes what has begun. The parts that started earlier still work. Throws if something
  /// of the part does not end in its time.
  func drain() async throws

  /// Ends the part. The server calls it once after `drain`, or without `drain` when a later part cannot start. Throws
  /// if something of the part does not end in its time.
  func stop() async throws
}

extension Part {
  func start() throws {}
  func drain() async {}
  func stop() async {}
}

/// The reason why a part has not ended.
struct UnendedPart: Error, CustomStringConvertible {
  let description: String
}

/// The parts of the server in the order in which they start. They drain and stop in the reverse order (`Shutdown`).
struct PartList: Sendable {
  let parts: [any Part]

  /// Starts all parts. If one fails, stops those that started, in reverse order, and throws the error.
  func start() async throws {
    for (index, part) in parts.enumerated() {
      do {
        try part.start()
      } catch {
        for started in parts[..<index].reversed() { try? await started.stop() }
        throw error
      }
    }
  }
}
