internal import Callers
internal import GRPC
internal import Identity
internal import Store
internal import Synchronization
internal import API
internal import Protobuf

/// Limits of Watch: the number of concurrent calls, and the interval between heartbeats.
package struct WatchLimits: Sendable {
  package var watchersMax = 256
  package var watchersPerCallerMax = 16
  package var heartbeatMillis: Int64 = 15_000

  package init() {}
}

/// latchkey.v1.EventService, for identified callers with the right to it.
package struct EventService: Sendable {
  private let shared: HandlerContext
  private let limits: WatchLimits
  private let seats: WatchSeats

  /// - Parameter seats: those of an earlier service with the same limits, whose calls still count.
  package init(_ shared: HandlerContext, limits: WatchLimits = WatchLimits(), seats: WatchSeats? = nil) {
    self.shared = shared
    self.limits = limits
    self.seats = seats ?? WatchSeats(limits)
  }

  package var methods: [Method] {
    [
      Method(
        EventRPC.watch.path, timeLimitMillis: .max, isLookUp: true,
        .stream(fromClient: false) { context in
          EventWatcher(shared.environment, seats, heartbeatMillis: limits.heartbeatMillis, caller: context.caller.name)
        })
    ]
  }
}

/// The handler of Watch. Reads new events after its cursor when the client has received the previous ones.
private final class EventWatcher: StreamHandler {
  private let environment: Environment
  private let seats: WatchSeats
  private let heartbeatMillis: Int64
  private let caller: CallerName
  private var seat: WatchSeats.Seat?
  private var types: Set<String> = []
  /// The position of the last event read; nil: the handler starts at the end of the events at its first read.
  private var cursor: EventCursor?
  /// Whether more events followed the last batch, so that the client does not have the final cursor yet.
  private var isBehind = false
  /// Whether there may be events after the cursor.
  private var mayHaveMore = false
  /// The time of the last message; nil: no message was sent yet.
  private var toldMillis: Int64?

  init(_ environment: Environment, _ seats: WatchSeats, heartbeatMillis: Int64, caller: CallerName) {
    self.environment = environment
    self.seats = seats
    self.heartbeatMillis = heartbeatMillis
    self.caller = caller
  }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let request = try WatchRequest.decode(span, arena: arena)
    types = try Shape.eventTypes(request.types)
    cursor = try Shape.cursor(request.cursor)
    seat = try seats.take(caller)
    mayHaveMore = true
    return StreamStep()
  }

  var follows: Bool { true }

  func news() { mayHaveMore = true }

  var nextDueMillis: Int64? { toldMillis.map { $0 + heartbeatMillis } }

  private func isHeartbeatDue(_ nowMillis: Int64) -> Bool { nextDueMillis.map { nowMillis >= $0 } ?? true }

  func nextWork(nowMillis: Int64) -> StreamWork? {
    guard seat != nil, mayHaveMore || isHeartbeatDue(nowMillis) else { return nil }
    mayHaveMore = false
    let reading = ReadEvents(after: cursor, types: types)
    return { [environment] in try await environment.read(reading) }
  }

  /// Sends the events of a batch, each with its cursor. After the last one, and as a heartbeat, sends the cursor alone.
  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep {
    guard let batch = result as? EventBatch else { return StreamStep() }
    cursor = batch.cursor
    if !batch.isLast { mayHaveMore = true }
    var messages = batch.events.map { record in
      WatchResponse(cursor: EventCursor(position: record.position).text, event: Event(record))
        .encode(arena: arena)
    }
    if batch.isLast, !messages.isEmpty || isBehind || isHeartbeatDue(nowMillis) {
      messages.append(WatchResponse(cursor: batch.cursor.text).encode(arena: arena))
    }
    isBehind = !batch.isLast
    if !messages.isEmpty { toldMillis = nowMillis }
    return StreamStep(messages)
  }
}

extension Shape {
  /// Parses a cursor. Returns nil for `now`, which starts at the end of the events.
  fileprivate static func cursor(_ text: String) throws -> EventCursor? {
    if text.isEmpty { return EventCursor(position: 0) }
    if text == "now" { return nil }
    guard let cursor = EventCursor(text) else {
      throw invalid("cursor", "Send a cursor from a Watch response, \"now\", or an empty cursor for all events.")
    }
    return cursor
  }
}

/// The number of Watch calls for each caller, over all connections.
package final class WatchSeats: Sendable {
  /// The right of one call to watch. Its deinit releases it.
  final class Seat: Sendable {
    private let seats: WatchSeats
    private let caller: CallerName

    init(_ seats: WatchSeats, _ caller: CallerName) {
      self.seats = seats
      self.caller = caller
    }

    deinit { seats.giveBack(caller) }
  }

  private let taken = Mutex<[CallerName: Int]>([:])
  private let limits: WatchLimits

  package init(_ limits: WatchLimits) { self.limits = limits }

  func take(_ caller: CallerName) throws -> Seat {
    try taken.withLock { taken in
      let own = taken[caller, default: 0]
      guard own < limits.watchersPerCallerMax else { throw WatchSeats.refusal(.perCaller, own, caller) }
      guard taken.values.reduce(0, +) < limits.watchersMax else { throw WatchSeats.refusal(.inAll, own, caller) }
      taken[caller] = own + 1
    }
    return Seat(self, caller)
  }

  private static func refusal(_ limit: WatchLimit, _ own: Int, _ caller: CallerName) -> Failure {
    var failure = Failure(
      .quotaExceeded, hint: "End one of the other Watch calls, or retry later.", retryAfterMillis: 10_000,
      debug: "\(own) watchers of \(caller.text)")
    failure.watchLimit = limit
    return failure
  }

  private func giveBack(_ caller: CallerName) {
    taken.withLock { taken in
      let left = taken[caller, default: 1] - 1
      taken[caller] = left > 0 ? left : nil
    }
  }
}
