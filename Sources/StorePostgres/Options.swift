package struct Options: Sendable {
  /// A libpq connection string: keywords and values, or a postgresql:// URI.
  package var conninfo: String
  /// The password file, read again for each connection, so that the password can be changed in place. Empty: no
  /// password is sent.
  package var passwordFile = ""
  /// Whether opening the store migrates its schema. If not, a store that lacks a step is rejected.
  package var migrates = true
  /// The number of connections of each attached thread, and of the thread that serves all other callers.
  package var connections = 4
  /// The largest number of lookups, and separately of changes, that may wait in one pool. The store rejects more.
  package var queueMax = 4096
  /// How long a request may wait to be sent.
  package var waitMillis: Int64 = 2_000
  /// The largest number of lookups in progress on one connection.
  package var readsPerConnectionMax = 16
  package var statementMillis: Int64 = 5_000
  package var lockMillis: Int64 = 3_000
  package var idleTransactionMillis: Int64 = 10_000
  /// The time that a response may take beyond the server's statement timeout. After that, the connection counts as
  /// lost.
  package var slackMillis: Int64 = 1_000
  package var connectSeconds = 2
  /// The longest pause between two attempts to connect.
  package var pauseMillisMax: Int64 = 2_000
  /// The time from which calls to an unreachable database fail immediately.
  package var goneMillis: Int64 = 1_000
  /// How long the store tries to determine whether a change with a lost connection was committed.
  package var settleMillis: Int64 = 10_000
  /// The limits, in attempts and time, on retries of a change that the server aborted in favor of another transaction.
  package var retriesMax = 12
  package var retryMillis: Int64 = 6_000
  /// The interval between placings of audit rows, and the largest number of rows per placing.
  package var placingMillis: Int64 = 250
  package var placedMax = 1_000
  /// The interval between counts of pending rows and waiting messages.
  package var countingMillis: Int64 = 5_000
  /// The number of failure rows from which a sweep removes the oldest.
  package var failuresMax = 1_000_000
  /// How long the database remembers which changes were committed.
  package var changeMillis: Int64 = 3_600_000

  /// Whether the store builds and uses the indexes of searches.
  package var search = false
  /// Whether these indexes may need the extension pg_trgm. Only tests say no.
  var mayUseTrigrams = true

  package init(conninfo: String) { self.conninfo = conninfo }
}
