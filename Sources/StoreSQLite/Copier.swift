import CSQLite
import Glibc
import Store
import Synchronization

/// Copies the file while it is written, on a thread with a lower priority than those that serve callers.
///
/// SQLite's backup functions copy the pages of one snapshot unchanged, in steps. Between two steps the thread pauses
/// and may stop. The snapshot is opened before the first step: without it, each commit of the writer would restart the
/// copy. `VACUUM INTO` would rebuild every index in one statement, with far more computation and a snapshot open for as
/// long. The connection only reads, so that only the writer's connection writes and checkpoints.
struct Copier: Sendable {
  static let niceness: Int32 = 10

  let path: String
  let options: Options
  let isWanted: @Sendable () -> Bool

  init(path: String, options: Options, isWanted: @escaping @Sendable () -> Bool) {
    self.path = path
    self.options = options
    self.isWanted = isWanted
  }

  /// - Parameter released: called once the snapshot is closed. The WAL may restart from then on.
  func copy(to copyPath: String, released: () -> Void) throws(SQLiteError) -> StoreCopy {
    try copyPages(to: copyPath, released: released)
    try standAlone(copyPath)
    let copy = try Connection.reader(path: copyPath, options: options)
    defer { copy.close() }
    copy.giveUp(unless: isWanted)
    let findings = try copy.texts("PRAGMA integrity_check(8)")
    guard findings == ["ok"] else {
      throw SQLiteError(code: SQLITE_CORRUPT, text: "the copy is corrupt: \(findings.joined(separator: "; "))")
    }
    return StoreCopy(
      accountCount: Int(clamping: try copy.integer("SELECT count(*) FROM accounts")),
      lastEvent: try copy.integer("SELECT coalesce(max(position), 0) FROM audit"))
  }

  private func copyPages(to copyPath: String, released: () -> Void) throws(SQLiteError) {
    let copy = try Connection.copy(path: copyPath, options: options)
    defer { copy.close() }
    let source = try Connection.reader(path: path, options: options)
    defer {
      source.close()
      released()
    }
    try source.execute("BEGIN")
    // BEGIN alone opens no snapshot; the first read does.
    _ = try source.integer("SELECT count(*) FROM sqlite_schema")
    try carryOver(try source.pageCopy(to: copy))
  }

  /// Runs the page copy. Consumes it, so that it ends before the connections of both sides close.
  private func carryOver(_ pages: consuming PageCopy) throws(SQLiteError) {
    while try pages.step(options.copyPagesPerStep) {
      guard isWanted() else { throw SQLiteError(code: SQLITE_INTERRUPT, text: "the copy was cancelled") }
      usleep(options.copyPauseMillis * 1_000)
    }
  }

  private func standAlone(_ copyPath: String) throws(SQLiteError) { try Copier.standAlone(copyPath, mark: 0) }

  /// Clears the WAL flag in the copy (bytes 18 and 19 of the first page, "File format version numbers" in SQLite's file
  /// format description), and replaces its mark (`FileMark`).
  ///
  /// The copy is then a single file, which can be read on read-only media too. A store that opens it sets the flag
  /// again.
  static func standAlone(_ copyPath: String, mark: UInt32) throws(SQLiteError) {
    let versions: [UInt8] = [1, 1]
    let descriptor = unsafe Glibc.open(copyPath, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      throw SQLiteError(code: SQLITE_CANTOPEN, text: "\(copyPath) cannot be opened, errno \(code)")
    }
    defer { _ = Glibc.close(descriptor) }
    guard unsafe pwrite(descriptor, versions, versions.count, 18) == versions.count,
      FileMark.write(mark, to: descriptor)
    else {
      let code = errno
      let isFull = code == ENOSPC || code == EDQUOT
      throw SQLiteError(code: isFull ? SQLITE_FULL : SQLITE_IOERR, text: "\(copyPath) cannot be written")
    }
  }
}

/// A page copy in progress.
@safe struct PageCopy: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { _ = unsafe sqlite3_backup_finish(handle) }

  /// Copies the next pages. False: these were the last.
  func step(_ pages: Int32) throws(SQLiteError) -> Bool {
    let code = unsafe sqlite3_backup_step(handle, pages)
    switch code {
    case SQLITE_OK: return true
    case SQLITE_DONE: return false
    default:
      throw unsafe SQLiteError(code: code, text: "a page cannot be copied: \(String(cString: sqlite3_errstr(code)))")
    }
  }
}

/// Tells the writer that a long-lived snapshot is open, until it is released or deinitialized.
final class LogHold: Sendable {
  private let progress: Progress
  private let isReleased = Atomic<Bool>(false)

  init(_ progress: Progress) {
    self.progress = progress
    progress.copies.add(1, ordering: .acquiringAndReleasing)
  }

  deinit { release() }

  func release() {
    guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
    progress.copies.subtract(1, ordering: .acquiringAndReleasing)
  }
}
