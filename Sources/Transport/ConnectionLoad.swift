/// Counts of one connection: its started calls with open streams, and the bytes that it buffers for them.
struct ConnectionLoad: Hashable {
  /// Properties of a call that decide where it counts.
  struct Kind: Hashable {
    var isStreaming = false
    /// It follows the store.
    var follows = false
    /// A drain waits for it.
    var holdsDrain = false
  }

  private(set) var calls = 0
  private(set) var streamingCalls = 0
  private(set) var followingCalls = 0
  private(set) var holdingCalls = 0
  /// Streaming calls that continue when their client has read the messages sent so far.
  private(set) var deliveringCalls = 0
  /// Number of streams that the meter counts.
  private(set) var meteredStreams = 0
  /// Buffered bytes of undelivered messages of all calls.
  private(set) var heldBytes = 0

  mutating func began(_ kind: Kind) { count(kind, 1) }

  mutating func ended(_ kind: Kind) { count(kind, -1) }

  private mutating func count(_ kind: Kind, _ change: Int) {
    calls += change
    if kind.isStreaming { streamingCalls += change }
    if kind.follows { followingCalls += change }
    if kind.holdsDrain { holdingCalls += change }
  }

  mutating func beganDelivery() { deliveringCalls += 1 }

  mutating func endedDelivery() { deliveringCalls -= 1 }

  /// Adds the change of one call's buffered bytes.
  mutating func held(bytes change: Int) { heldBytes += change }

  /// Records the number of open streams. Returns its change.
  mutating func meter(streams: Int) -> Int {
    defer { meteredStreams = streams }
    return streams - meteredStreams
  }
}

/// Timers of a connection that run. A timer that fires is removed; another may then start.
struct ConnectionTimers: OptionSet, Hashable {
  let rawValue: UInt8

  /// An incomplete connection preface, header block or frame.
  static let begun = ConnectionTimers(rawValue: 1 << 0)
  /// Unread output.
  static let untaken = ConnectionTimers(rawValue: 1 << 1)
  /// Calls that follow the store.
  static let follow = ConnectionTimers(rawValue: 1 << 2)

  /// Returns whether the timer must be started.
  mutating func start(_ timer: ConnectionTimers) -> Bool { insert(timer).inserted }

  mutating func fired(_ timer: ConnectionTimers) { remove(timer) }
}

/// The worker's queues that contain a connection.
struct QueueMembership: OptionSet, Hashable {
  let rawValue: UInt8

  /// It is on the list of connections to flush at the end of this turn.
  static let touched = QueueMembership(rawValue: 1 << 0)
  /// It is on a ready list and waits for its share of a turn.
  static let ready = QueueMembership(rawValue: 1 << 1)
}
