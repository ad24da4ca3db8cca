import CPostgres

/// One of the hosts of the database.
struct Host: Hashable, Sendable {
  var name: String
  /// Empty: a socket.
  var address: String
  var port: String
}

/// The host to try first.
///
/// libpq tries all hosts in order, for each new connection, and waits for a silent one until its timeout. After the
/// loss of a machine, each connection would come that much later than the previous one.
struct HostMemory {
  /// The longest connect time if the first host answers.
  static let promptMillis: Int64 = 1_000

  /// nil: all hosts, in order.
  private(set) var preferred: Host?

  mutating func connected(to host: Host?, tookMillis: Int64) {
    if tookMillis >= HostMemory.promptMillis { preferred = host }
  }

  mutating func failed() { preferred = nil }
}
