import Reactor

/// Builds an index while servers write to its table.
///
/// A build that was interrupted leaves an invalid index of that name, which is removed. Several processes may run this
/// at the same time: one builds, the others wait for it.
struct IndexBuild {
  enum State: String {
    case absent, valid, building, invalid
  }

  private static let pollMillis: UInt32 = 200
  private static let attemptsMax = 20

  let name: String
  let on: String

  func run(on connection: ReadyConnection) throws(ReadyConnection.Refusal) {
    var attempts = 0
    while true {
      do throws(ReadyConnection.Refusal) {
        if try advance(connection) { return }
      } catch {
        // Two processes that begin at the same moment disturb each other's rows of the catalog.
        attempts += 1
        guard attempts < IndexBuild.attemptsMax, !connection.isLost else { throw error }
        sleepThread(millis: UInt32.random(in: 1...IndexBuild.pollMillis))
      }
    }
  }

  /// Does the next step. Returns whether the index is there.
  private func advance(_ connection: ReadyConnection) throws(ReadyConnection.Refusal) -> Bool {
    switch try state(connection) {
    case .valid: return true
    case .building: sleepThread(millis: IndexBuild.pollMillis)
    case .invalid: try connection.execute("DROP INDEX CONCURRENTLY IF EXISTS \(name)")
    case .absent: try connection.execute("CREATE INDEX CONCURRENTLY IF NOT EXISTS \(name) ON \(on)")
    }
    return false
  }

  /// `pg_stat_progress_create_index` names the index that a session builds.
  private func state(_ connection: ReadyConnection) throws(ReadyConnection.Refusal) -> State {
    let text = try connection.text(
      """
      SELECT CASE WHEN i.indisvalid THEN 'valid' WHEN EXISTS (
        SELECT 1 FROM pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid) THEN 'building'
        ELSE 'invalid' END
      FROM pg_index AS i WHERE i.indexrelid = to_regclass('\(name)')
      """)
    return State(rawValue: text) ?? .absent
  }
}
