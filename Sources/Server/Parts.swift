/// A component of the server with threads, tasks or files of its own.
protocol Part: Sendable {
  /// Name in the log.
  var name: String { get }

  /// Starts the part. Returns when it works. If it throws, `stop` ends what it has started.
  func start() throws

  /// Rejects new work and finishes the work in progress. Parts that started earlier still run. Throws if the part does
  /// not finish in time.
  func drain() async throws

  /// Ends the part. The server calls it once after `drain`, or without `drain` when this part or a later one cannot
  /// start. Throws if the part does not end in time.
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

  /// Starts all parts. If one fails, stops it and those that started, in reverse order, and throws the error.
  func start() async throws {
    for (index, part) in parts.enumerated() {
      do {
        try part.start()
      } catch {
        for started in parts[...index].reversed() { try? await started.stop() }
        throw error
      }
    }
  }
}
