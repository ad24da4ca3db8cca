import CPostgres

/// One of the hosts that the database is looked for at.
struct Host: Hashable, Sendable {
  var name: String
  /// Empty: a socket.
  var address: String
  var port: String
}

/// Where to look first. libpq asks all hosts in their order, for each connection anew, and waits for one that is silent
/// until its time is over: after the loss of a machine each connection would come so much later than the one before it.
struct HostMemory {
  /// How long it takes no longer than where the first host answers.
  static let promptMillis: Int64 = 1_000

  /// nil: all of them in their order.
  private(set) var preferred: Host?

  mutating func connected(to host: Host?, tookMillis: Int64) {
    if tookMillis >= HostMemory.promptMillis { preferred = host }
  }

  mutating func failed() { preferred = nil }
}
