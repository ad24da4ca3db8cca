import CPostgres

/// Detection of a connection pooler that gives each transaction another session of the database, such as PgBouncer with
/// `pool_mode = transaction`. The store needs sessions: it prepares statements and sets timeouts once a connection.
enum Pooler {
  /// The observed process IDs of the database's sessions, in the order of the queries.
  struct Sessions: Equatable {
    /// Two transactions on the first connection, one after the other.
    var first, second: String
    /// A transaction on another connection, while the first one is open and idle.
    var other: String
  }

  /// How often the sessions are compared. Other clients of the pooler may take a session between two queries.
  private static let roundsMax = 3

  /// Whether connections share sessions. In session mode, each has one of its own until it is closed.
  static func sharesSessions(_ sessions: Sessions) -> Bool {
    sessions.first != sessions.second || sessions.other == sessions.second
  }

  /// Throws if a pooler shares sessions between connections.
  ///
  /// A pooler answers the start of a connection itself, with a process ID of its own. Without a pooler, the ID is that
  /// of the session, and no second connection is needed.
  static func check(_ connection: ReadyConnection, _ options: Options) throws(ReadyConnection.Refusal) {
    let deadline = ReadyConnection.deadline(options)
    let query = "SELECT pg_backend_pid()"
    guard try connection.text(query, by: deadline) != "\(connection.startedProcessID)" else { return }
    let other = try ReadyConnection.connect(options)
    defer { other.abandon() }
    for _ in 0..<roundsMax {
      let first = try connection.text(query, by: deadline), second = try connection.text(query, by: deadline)
      try other.execute("BEGIN", by: deadline)
      let sessions = Sessions(first: first, second: second, other: try other.text(query, by: deadline))
      try other.execute("ROLLBACK", by: deadline)
      guard !sharesSessions(sessions) else {
        throw ReadyConnection.Refusal(
          text: "a pooler such as PgBouncer in transaction mode is between the server and PostgreSQL: connect to "
            + "PostgreSQL directly, or set pool_mode = session",
          isLasting: true)
      }
    }
  }
}
