import CSQLite
import Glibc
import Reactor
import Store
import Synchronization

/// Checks the whole file, or counts its rows, while it is used, on a thread with a lower priority.
///
/// SQLite's `quick_check` reads every page once in one statement, and its progress callback pauses it. The snapshot
/// stays open during the check, so the WAL cannot restart.
struct Inspector: Sendable {
  static let niceness: Int32 = 10
  private static let findingsMax = 8
  private static let stepsPerLook: Int32 = 1_000

  let path: String
  let options: Options
  let isWanted: @Sendable () -> Bool

  init(path: String, options: Options, isWanted: @escaping @Sendable () -> Bool) {
    self.path = path
    self.options = options
    self.isWanted = isWanted
  }

  /// Opens a connection whose statements pause.
  private func open() throws(SQLiteError) -> Connection {
    let connection = try Connection.reader(path: path, options: options)
    let pace = Pace(workMillis: options.checkWorkMillis, restMillis: options.checkRestMillis)
    connection.giveUp(every: Inspector.stepsPerLook) { [isWanted] in
      pace.restWhenDue()
      return isWanted()
    }
    return connection
  }

  func statistics(at now: Timestamp, countingAccounts: Bool) throws(SQLiteError) -> StoreStatistics {
    let connection = try open()
    defer { connection.close() }
    let blocks = try connection.integer(
      """
      SELECT count(*) FROM (SELECT 1 FROM throttles WHERE expires_at > \(now.millis) AND blocked_until > \(now.millis)
        LIMIT \(StoreStatistics.throttleBlocksMax))
      """)
    return StoreStatistics(
      accounts: countingAccounts ? Int(try connection.integer("SELECT count(*) FROM accounts")) : nil,
      throttleBlocks: Int(blocks), databaseBytes: Int(fileBytes(path)),
      logBytes: Int(fileBytes(path + "-wal")))
  }

  func check() throws(SQLiteError) -> StoreCheck {
    let connection = try open()
    defer { connection.close() }
    do throws(SQLiteError) {
      let findings = try connection.texts("PRAGMA quick_check(\(Inspector.findingsMax))")
      if findings == ["ok"] { return .sound }
      // SQLite reports the interruption of a check as its last finding.
      return isWanted() ? .corrupt(findings) : .unfinished
    } catch {
      if error.code & 0xff == SQLITE_INTERRUPT { return .unfinished }
      if error.trouble == .corrupt { return .corrupt([error.text]) }
      throw error
    }
  }
}

/// The share of time that background work may take.
private final class Pace: Sendable {
  private let workMillis: Int64
  private let restMillis: UInt32
  private let workingSince = Atomic<Int64>(monotonicMillis())

  init(workMillis: Int64, restMillis: UInt32) {
    self.workMillis = workMillis
    self.restMillis = restMillis
  }

  func restWhenDue() {
    guard monotonicMillis() - workingSince.load(ordering: .relaxed) >= workMillis else { return }
    sleepThread(millis: restMillis)
    workingSince.store(monotonicMillis(), ordering: .relaxed)
  }
}
