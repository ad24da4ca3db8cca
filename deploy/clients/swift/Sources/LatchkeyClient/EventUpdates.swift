private import GRPCCore
private import SwiftProtobuf

extension LatchkeyClient {
  /// Follows the events of all accounts, and resumes after a disconnect.
  ///
  /// ```swift
  /// for try await update in client.updates(after: cursor) {
  ///   if update.hasEvent { process(update.event) }
  ///   store(update.cursor)
  /// }
  /// ```
  ///
  /// The caller needs the right `events`.
  ///
  /// - Parameters:
  ///   - cursor: Cursor of the last update that was processed. Empty: the oldest event that is kept. `now`: only new
  ///     events.
  ///   - types: Only events of these types. Empty: all.
  public func updates(after cursor: String, types: [Latchkey_V1_EventType] = []) -> EventUpdates {
    EventUpdates(
      service: events,
      request: .with {
        $0.cursor = cursor
        $0.types = types
      })
  }
}

/// The events of all accounts in the order of their commits, each at least once.
///
/// An update contains an event and the cursor after it, or a cursor alone if nothing is new. The server sends one at
/// least every 15 seconds. The sequence asks for the next update when the previous one was processed.
///
/// The sequence has no end. When the server closes the connection or is unavailable, the sequence calls again with the
/// cursor of the last update, after pauses of one second to a minute. It throws ``LatchkeyError`` for every other
/// failure, such as `CALLER_NOT_ALLOWED`, and `CancellationError` if the task is cancelled.
public struct EventUpdates: AsyncSequence, Sendable {
  public typealias Element = Latchkey_V1_WatchResponse

  let service: any Latchkey_V1_EventService.ClientProtocol
  let request: Latchkey_V1_WatchRequest
  var firstPause = Duration.seconds(1)

  /// Starts to follow the events.
  public func makeAsyncIterator() -> Iterator {
    let (updates, producer) = AsyncThrowingStream<Element, any Error>.makeStream()
    let (demand, consumer) = AsyncStream<Void>.makeStream()
    let task = Task {
      do { try await follow(producer, demand) } catch { producer.finish(throwing: error) }
    }
    // Also when the loop over the sequence ends.
    producer.onTermination = { _ in task.cancel() }
    return Iterator(demand: consumer, updates: updates.makeAsyncIterator())
  }

  /// Waits for updates.
  public struct Iterator: AsyncIteratorProtocol {
    let demand: AsyncStream<Void>.Continuation
    var updates: AsyncThrowingStream<Element, any Error>.Iterator

    /// Returns the next update. Never returns nil.
    public mutating func next() async throws -> Element? {
      demand.yield()
      let update = try await updates.next()
      if update == nil { throw CancellationError() }
      return update
    }
  }

  private func follow(
    _ producer: AsyncThrowingStream<Element, any Error>.Continuation, _ demand: AsyncStream<Void>
  ) async throws {
    var request = request, pause = firstPause
    while true {
      let (cursor, error) = try await watch(request, producer, demand)
      if let cursor {
        request.cursor = cursor
        pause = firstPause
      }
      try await Task.sleep(for: Swift.max(pause, error?.retryDelay ?? pause))
      pause = Swift.min(pause * 2, .seconds(60))
    }
  }

  /// Passes updates on until the stream ends. Returns the last cursor, and the error if a repeat can succeed.
  private func watch(
    _ request: Latchkey_V1_WatchRequest, _ producer: AsyncThrowingStream<Element, any Error>.Continuation,
    _ demand: AsyncStream<Void>
  ) async throws -> (cursor: String?, error: LatchkeyError?) {
    try await service.watch(request) { response in
      var cursor: String?
      var demand = demand.makeAsyncIterator()
      do {
        for try await update in response.messages {
          guard await demand.next() != nil else { break }
          producer.yield(update)
          cursor = update.cursor
        }
      } catch let error as RPCError {
        let error = LatchkeyError(error)
        guard [.unavailable, .resourceExhausted].contains(error.code) else { throw error }
        return (cursor, error)
      }
      return (cursor, nil)
    }
  }
}
