import CSQLite
import Glibc
package import Store

/// The reason why a file was not restored.
package enum RestoredFileError: Error, Hashable {
  /// The content cannot be used.
  case content(String)
  /// The target, or a file next to it, cannot be written, or a server uses it.
  case target(String)
}

/// A new content for a database file that no server uses. It replaces the file completely, or not at all.
///
/// The content is written to a file next to the target, checked, and synced. Then the steps of `publish` follow, in an
/// order in which each kill leaves the old file with its log, or the new file. The record in the lock file connects
/// the last two steps: a server that finds the new file with the old log removes the log (`FileMark`).
package final class RestoredFile {
  package enum Step: CaseIterable, Sendable {
    case kept, announced, replaced, cleaned, ended
  }

  /// The limit on faults from integrity_check.
  private static let faultsMax = 20
  private static let draftSuffix = ".restore-draft"
  /// The beginning of what is appended to the path of a former file.
  package static let keptPrefix = ".before-"
  private static let companions = ["-wal", "-shm", "-journal"]

  private let path: String
  private let folder: String
  private let draft: String
  private let lock: LockFile
  private let finding: FileMark.Finding
  private var descriptor: Int32
  private let mark = FileMark.random()
  /// Called after each step of `publish`. A test ends there.
  var reached: (Step) throws -> Void = { _ in }

  /// The path of the target without links.
  package var place: String { path }

  /// The size of a file; nil if it does not exist.
  package static func size(of path: String) -> Int64? {
    unsafe access(path, F_OK) == 0 ? fileBytes(path) : nil
  }

  /// Locks the target, and removes what an interrupted restore left.
  package init(of target: String) throws(RestoredFileError) {
    let isNew = unsafe access(target, F_OK) != 0
    do throws(StoreError) {
      path = isNew ? try RestoredFile.place(ofNew: target) : try LockFile.resolve(target)
      lock = try LockFile(of: path)
      // A foreign log is no obstacle, since it is removed.
      finding = isNew ? .fits : try lock.logFinding(of: path)
      if finding == .leftByRestore { try lock.settleLog(of: path) }
    } catch {
      throw .target(RestoredFile.text(error))
    }
    folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    draft = path + RestoredFile.draftSuffix
    for suffix in [""] + RestoredFile.companions { _ = unsafe unlink(draft + suffix) }
    RestoredFile.removeFurtherNames(of: path)
    descriptor = unsafe Glibc.open(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw RestoredFile.failure("create \(draft)") }
  }

  /// Removes the draft, unless it was published.
  deinit {
    guard descriptor >= 0 else { return }
    _ = Glibc.close(descriptor)
    for suffix in [""] + RestoredFile.companions { _ = unsafe unlink(draft + suffix) }
  }

  /// Appends to the draft.
  package func write(_ bytes: [UInt8]) throws(RestoredFileError) {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        unsafe Glibc.write(descriptor, all.baseAddress! + done, all.count - done)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw RestoredFile.failure("write \(draft)") }
      done += count
    }
  }

  /// Checks every page and index of the draft, and its schema. Gives it a mark of its own, its owner, and syncs it.
  package func check() throws(RestoredFileError) -> StoreCopy {
    let copy: StoreCopy
    do throws(SQLiteError) {
      copy = try inspect()
      for suffix in RestoredFile.companions { _ = unsafe unlink(draft + suffix) }
      try Copier.standAlone(draft, mark: mark)
    } catch {
      let isTargets = [SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.code & 0xff)
      throw isTargets ? .target("\(draft): \(error.text)") : .content(error.text)
    }
    try takeOwner()
    guard fsync(descriptor) == 0 else { throw RestoredFile.failure("sync \(draft)") }
    return copy
  }

  /// Puts the draft in the place of the target.
  /// - Parameter name: appended to the path of the former file, to keep it. nil: it is not kept.
  package func publish(keepingAs name: String?) throws {
    if let name { try keep(as: path + name) }
    try reached(.kept)
    try note(FileMark(lock.record()?.marks ?? [], replacement: mark))
    try reached(.announced)
    guard unsafe rename(draft, path) == 0 else { throw RestoredFile.failure("rename \(draft) to \(path)") }
    _ = Glibc.close(descriptor)
    descriptor = -1
    try syncFolder()
    try reached(.replaced)
    for suffix in RestoredFile.companions { _ = unsafe unlink(path + suffix) }
    try syncFolder()
    try reached(.cleaned)
    try note(FileMark([mark]))
    try reached(.ended)
  }

  // MARK: Steps

  private func inspect() throws(SQLiteError) -> StoreCopy {
    let connection = try Connection.writer(path: draft, options: Options())
    defer { connection.close() }
    let faults = try connection.texts("PRAGMA integrity_check(\(RestoredFile.faultsMax))")
    guard faults == ["ok"] else { throw .corrupt("it is corrupt: \(faults.joined(separator: "; "))") }
    let schema = try Migrations.version(of: connection)
    if let refusal = schema.refusal { throw SQLiteError(code: SQLITE_ERROR, text: refusal) }
    let tables = try connection.integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('accounts', 'audit')")
    guard schema.version > 0, tables == 2 else {
      throw SQLiteError(code: SQLITE_ERROR, text: "it is not a database of this service")
    }
    try connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    return StoreCopy(
      accountCount: Int(clamping: try connection.integer("SELECT count(*) FROM accounts")),
      lastEvent: try connection.integer("SELECT coalesce(max(position), 0) FROM audit"))
  }

  /// Gives the draft and the lock file the owner of the former file, or else of the folder, and the mode 0600.
  private func takeOwner() throws(RestoredFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 || stat(folder.isEmpty ? "/" : folder, &status) == 0 else {
      throw RestoredFile.failure("read \(folder)")
    }
    let (owner, group) = (status.st_uid, status.st_gid)
    var own = stat()
    guard unsafe fstat(descriptor, &own) == 0, fchmod(descriptor, 0o600) == 0 else {
      throw RestoredFile.failure("read \(draft)")
    }
    guard own.st_uid != owner || own.st_gid != group else { return }
    guard fchown(descriptor, owner, group) == 0, lock.give(to: owner, group) else {
      throw .target("\(path) must belong to user \(owner) and group \(group): run the command as root, or as that user")
    }
  }

  /// Gives the former file and its log further names. Their content stays as it is.
  private func keep(as other: String) throws(RestoredFileError) {
    guard unsafe access(path, F_OK) == 0 else { return }
    guard unsafe link(path, other) == 0 else { throw RestoredFile.failure("link \(path) to \(other)") }
    if fileBytes(path + "-wal") > 0 {
      // SQLite must not apply a foreign log to the former file.
      let other = finding == .fits ? other : other + ".foreign"
      guard unsafe link(path + "-wal", other + "-wal") == 0 else {
        throw RestoredFile.failure("link \(path)-wal to \(other)-wal")
      }
    }
    try syncFolder()
  }

  /// Removes names that an interrupted restore gave to the file that is still in place.
  private static func removeFurtherNames(of path: String) {
    // The path is absolute.
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let (folder, prefix) = (String(path[...slash]), path[path.index(after: slash)...] + keptPrefix)
    guard let list = unsafe opendir(folder) else { return }
    defer { unsafe closedir(list) }
    while let entry = unsafe readdir(list) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
        unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      guard name.hasPrefix(prefix) else { continue }
      let suffix = name.hasSuffix("-wal") ? "-wal" : ""
      if isSame(folder + name, path + suffix) { _ = unsafe unlink(folder + name) }
    }
  }

  private static func isSame(_ path: String, _ other: String) -> Bool {
    var (status, others) = (stat(), stat())
    guard unsafe stat(path, &status) == 0, unsafe stat(other, &others) == 0 else { return false }
    return (status.st_dev, status.st_ino) == (others.st_dev, others.st_ino)
  }

  private func note(_ record: FileMark) throws(RestoredFileError) {
    do throws(SQLiteError) { try lock.write(record) } catch { throw .target("\(path).lock: \(error.text)") }
  }

  private func syncFolder() throws(RestoredFileError) {
    let opened = unsafe Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard opened >= 0 else { throw RestoredFile.failure("open \(folder)") }
    defer { _ = Glibc.close(opened) }
    guard fsync(opened) == 0 else { throw RestoredFile.failure("sync \(folder)") }
  }

  // MARK: Names and errors

  /// Returns the path of a file that does not exist, in its folder without links.
  private static func place(ofNew target: String) throws(StoreError) -> String {
    let slash = target.lastIndex(of: "/")
    let folder = slash.map { $0 == target.startIndex ? "/" : String(target[..<$0]) } ?? "."
    let name = slash.map { String(target[target.index(after: $0)...]) } ?? target
    let resolved = try LockFile.resolve(folder)
    return (resolved == "/" ? "" : resolved) + "/" + name
  }

  private static func failure(_ what: String) -> RestoredFileError {
    let code = errno
    return unsafe .target("cannot \(what): \(String(cString: strerror(code)))")
  }

  private static func text(_ error: StoreError) -> String {
    switch error {
    case .unavailable(let text), .unusable(let text), .corrupt(let text): text
    case .closed: "the store is closed"
    }
  }
}
