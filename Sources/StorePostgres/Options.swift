package struct Options: Sendable {
  /// Keywords and values, or a postgresql:// URI.
  package var conninfo: String
  /// Read anew for each connection, so that a password can be changed in place; empty: none is sent.
  package var passwordFile = ""
  /// Of each thread that is attached, and of the house that serves everybody else.
  package var connections = 4
  /// Look-ups, and beside them changes, that may wait at one desk; more are refused.
  package var queueMax = 4096
  /// How long one of them may wait to be sent.
  package var waitMillis: Int64 = 2_000
  /// Look-ups under way on one connection.
  package var readsPerConnectionMax = 16
  package var statementMillis: Int64 = 5_000
  package var lockMillis: Int64 = 3_000
  package var idleTransactionMillis: Int64 = 10_000
  /// What an answer may take beyond the time that the server gives a statement; then the connection counts as lost.
  package var slackMillis: Int64 = 1_000
  package var connectSeconds = 2
  /// Between two attempts to connect.
  package var pauseMillisMax: Int64 = 2_000
  /// From then on a database that cannot be reached refuses at once.
  package var goneMillis: Int64 = 1_000
  /// How long it is tried to find out what became of a change whose connection was lost.
  package var settleMillis: Int64 = 10_000
  /// How often, and how long, a change is begun again after the server gave it up for the sake of another.
  package var retriesMax = 12
  package var retryMillis: Int64 = 6_000
  /// How often audit rows are given their positions, and how many at once.
  package var placingMillis: Int64 = 250
  package var placedMax = 1_000
  /// How often pending rows and waiting messages are counted.
  package var countingMillis: Int64 = 5_000
  /// How long it is known which changes were committed.
  package var changeMillis: Int64 = 3_600_000

  package init(conninfo: String) { self.conninfo = conninfo }
}
