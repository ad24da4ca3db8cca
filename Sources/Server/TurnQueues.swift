internal import GRPC
internal import Services

/// What the connections of one worker have left to be done, by the phase of a turn that does it, in the order of the
/// phases.
struct TurnQueues {
  /// Those that wait for their share of reading.
  private(set) var readers = ReadyList<Connection>()
  /// Calls that became whole.
  private(set) var undecided: [(connection: Connection, call: ServerCall, message: Message)] = []
  /// What streaming calls want done.
  private(set) var beginning: [(connection: Connection, call: ServerCall, work: StreamWork)] = []
  /// Those that may have something to say.
  private(set) var touched = ReadyList<Connection>()
  private(set) var handshakes = ReadyList<Connection>()

  var isEmpty: Bool {
    readers.isEmpty && handshakes.isEmpty && undecided.isEmpty && touched.isEmpty && beginning.isEmpty
  }

  // MARK: Standing in line, once

  mutating func addReader(_ connection: Connection) {
    guard !connection.isQueued else { return }
    connection.isQueued = true
    readers.append(connection)
  }

  mutating func addHandshake(_ connection: Connection) {
    guard !connection.isQueued else { return }
    connection.isQueued = true
    handshakes.append(connection)
  }

  mutating func addTouched(_ connection: Connection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  mutating func addUndecided(_ call: ServerCall, _ message: Message, on connection: Connection) {
    undecided.append((connection, call, message))
  }

  mutating func addBeginning(_ work: @escaping StreamWork, of call: ServerCall, on connection: Connection) {
    beginning.append((connection, call, work))
  }

  // MARK: Being served

  mutating func nextReader() -> Connection? {
    let connection = readers.next()
    connection?.isQueued = false
    return connection
  }

  mutating func nextHandshake() -> Connection? {
    let connection = handshakes.next()
    connection?.isQueued = false
    return connection
  }

  mutating func nextTouched() -> Connection? {
    let connection = touched.next()
    connection?.isTouched = false
    return connection
  }

  /// All of them were looked at.
  mutating func haveDecided() { undecided.removeAll(keepingCapacity: true) }

  mutating func haveBegun() { beginning.removeAll(keepingCapacity: true) }
}
