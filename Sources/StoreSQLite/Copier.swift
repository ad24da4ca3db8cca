import CSQLite
import Glibc
import Store
import Synchronization

/// Copies the file while it is written, on a thread that stands behind those of the callers.
///
/// SQLite's backup functions copy the pages of one snapshot as they are, in steps between which the thread rests and
/// may give up. The snapshot is opened before the first step: without one, each commit of the writer would make the
/// copy begin anew. (`VACUUM INTO` makes every index anew in one statement: far more computing, with the snapshot open
/// for as long.) The connection only reads, so that the writer's stays the one that writes and checkpoints.
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

  /// - Parameter released: told once the snapshot is closed; the log may start over from then on.
  func copy(to copyPath: String, released: () -> Void) throws(Failure) -> StoreCopy {
    try copyPages(to: copyPath, released: released)
    try standAlone(copyPath)
    let copy = try Connection.reader(path: copyPath, options: options)
    defer { copy.close() }
    copy.giveUp(unless: isWanted)
    let findings = try copy.texts("PRAGMA integrity_check(8)")
    guard findings == ["ok"] else { throw .corrupt("the copy is not sound: \(findings.joined(separator: "; "))") }
    return StoreCopy(
      accountCount: Int(clamping: try copy.integer("SELECT count(*) FROM accounts")),
      lastEvent: try copy.integer("SELECT coalesce(max(position), 0) FROM audit"))
  }

  private func copyPages(to copyPath: String, released: () -> Void) throws(Failure) {
    let copy = try Connection.copy(path: copyPath, options: options)
    defer { copy.close() }
    let source = try Connection.reader(path: path, options: options)
    defer {
      source.close()
      released()
    }
    try source.execute("BEGIN")
    // BEGIN alone opens no snapshot: the first look does.
    _ = try source.integer("SELECT count(*) FROM sqlite_schema")
    try carryOver(try source.pageCopy(to: copy))
  }

  /// Ends the page copy with itself, before the connections of both sides are closed.
  private func carryOver(_ pages: consuming PageCopy) throws(Failure) {
    while try pages.step(options.copyPagesPerStep) {
      guard isWanted() else { throw Failure(code: SQLITE_INTERRUPT, text: "the copy is not wanted any more") }
      usleep(options.copyPauseMillis * 1_000)
    }
  }

  /// The first page says that a log may stand beside the file (bytes 18 and 19, "File format version numbers" in
  /// SQLite's description of the format). Without that a copy is one file, which is read from where nothing can be
  /// written, too; a store that is opened on it puts it back.
  private func standAlone(_ copyPath: String) throws(Failure) {
    let versions: [UInt8] = [1, 1]
    let descriptor = unsafe Glibc.open(copyPath, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      throw Failure(code: SQLITE_CANTOPEN, text: "\(copyPath) cannot be opened, errno \(code)")
    }
    defer { _ = Glibc.close(descriptor) }
    guard unsafe pwrite(descriptor, versions, versions.count, 18) == versions.count else {
      let code = errno
      let isFull = code == ENOSPC || code == EDQUOT
      throw Failure(code: isFull ? SQLITE_FULL : SQLITE_IOERR, text: "\(copyPath) cannot be written")
    }
  }
}

/// A copy of pages under way.
@safe struct PageCopy: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { _ = unsafe sqlite3_backup_finish(handle) }

  /// False: that was the last.
  func step(_ pages: Int32) throws(Failure) -> Bool {
    let code = unsafe sqlite3_backup_step(handle, pages)
    switch code {
    case SQLITE_OK: return true
    case SQLITE_DONE: return false
    default: throw unsafe Failure(code: code, text: "a page cannot be copied: \(String(cString: sqlite3_errstr(code)))")
    }
  }
}

/// Tells the writer, for as long as it lives or until it is released, that a snapshot is open for long.
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
