internal import GRPC
internal import Reactor
internal import Services

/// Pending work of one worker's connections, in the order of the turn's phases.
struct TurnQueues {
  /// Connections that wait for their share of reading.
  private(set) var readers = FIFOQueue<Connection>()
  /// Calls whose requests are complete.
  private(set) var undecided: [(connection: Connection, call: ServerCall, message: Message)] = []
  /// Work that streaming calls requested.
  private(set) var beginning: [(connection: Connection, call: ServerCall, work: StreamWork)] = []
  /// Connections that may have output.
  private(set) var touched = FIFOQueue<Connection>()
  private(set) var handshakes = FIFOQueue<Connection>()

  var isEmpty: Bool {
    readers.isEmpty && handshakes.isEmpty && undecided.isEmpty && touched.isEmpty && beginning.isEmpty
  }

  // MARK: Adding, at most once

  mutating func addReader(_ connection: Connection) {
    guard connection.queues.insert(.ready).inserted else { return }
    readers.append(connection)
  }

  mutating func addHandshake(_ connection: Connection) {
    guard connection.queues.insert(.ready).inserted else { return }
    handshakes.append(connection)
  }

  mutating func addTouched(_ connection: Connection) {
    guard connection.queues.insert(.touched).inserted else { return }
    touched.append(connection)
  }

  mutating func addUndecided(_ call: ServerCall, _ message: Message, on connection: Connection) {
    undecided.append((connection, call, message))
  }

  mutating func addBeginning(_ work: @escaping StreamWork, of call: ServerCall, on connection: Connection) {
    beginning.append((connection, call, work))
  }

  // MARK: Removing

  mutating func nextReader() -> Connection? {
    let connection = readers.popFirst()
    connection?.queues.remove(.ready)
    return connection
  }

  mutating func nextHandshake() -> Connection? {
    let connection = handshakes.popFirst()
    connection?.queues.remove(.ready)
    return connection
  }

  mutating func nextTouched() -> Connection? {
    let connection = touched.popFirst()
    connection?.queues.remove(.touched)
    return connection
  }

  /// Clears the calls after their decision.
  mutating func haveDecided() { undecided.removeAll(keepingCapacity: true) }

  mutating func haveBegun() { beginning.removeAll(keepingCapacity: true) }
}
