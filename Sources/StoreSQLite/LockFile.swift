import CLinux
import CSQLite
import Glibc
import Store

/// Keeps a second process from opening the file.
///
/// SQLite would let it write. In SQLite 3.7.0 to 3.51.2, a checkpoint concurrent with another connection's commit can
/// lose pages (the WAL-reset bug).
struct LockFile: ~Copyable {
  private let descriptor: Int32

  /// - Parameter file: the name that `resolve` returns, so that a process that uses a link finds the same lock.
  init(of file: String) throws(StoreError) {
    let path = file + ".lock"
    let opened = unsafe lk_open_lock(path)
    guard opened >= 0 else { throw LockFile.refusal("\(path) cannot be opened", code: -opened) }
    let held = -lk_hold(opened)
    guard held == 0 else {
      _ = Glibc.close(opened)
      guard held == EWOULDBLOCK else { throw LockFile.refusal("\(path) cannot be locked", code: held) }
      throw .unavailable("\(path) is held by another process: a store file can have only one owner")
    }
    // Set last: once all properties are set, `deinit` runs after a throw as well. It would then close a descriptor that
    // may belong to another file.
    descriptor = opened
  }

  /// Unlocks but does not remove the file. Otherwise two processes could hold two locks of the same name.
  deinit { _ = Glibc.close(descriptor) }

  /// Returns the record about the locked file; nil if there is none yet.
  borrowing func record() -> FileMark? {
    var bytes = [UInt8](repeating: 0, count: FileMark.byteCount)
    guard unsafe pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { return nil }
    return FileMark(record: bytes)
  }

  /// Replaces the record, durably.
  borrowing func write(_ record: FileMark) throws(SQLiteError) {
    let bytes = record.bytes
    let count = unsafe pwrite(descriptor, bytes, bytes.count, 0)
    guard count == bytes.count, fdatasync(descriptor) == 0 else {
      let code = errno
      let isFull = (0..<bytes.count).contains(count) || code == ENOSPC || code == EDQUOT
      let text = "the lock file cannot be written, errno \(code)"
      throw SQLiteError(code: isFull ? SQLITE_FULL : SQLITE_IOERR, text: text)
    }
  }

  /// Gives the lock file to the owner of the file that it locks.
  borrowing func give(to owner: uid_t, _ group: gid_t) -> Bool { fchown(descriptor, owner, group) == 0 }

  /// Checks that the file exists, before a lock file is created next to it.
  static func requireFile(_ path: String) throws(StoreError) {
    guard unsafe Glibc.access(path, R_OK) == 0 else {
      let code = errno
      throw refusal("\(path) cannot be read", code: code)
    }
  }

  /// Returns the name of an existing file without links. SQLite creates the WAL next to it.
  static func resolve(_ path: String) throws(StoreError) -> String {
    guard let resolved = unsafe Glibc.realpath(path, nil) else {
      let code = errno
      throw refusal("\(path) cannot be found", code: code)
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// Creates the file with mode 0600, before SQLite would create it with the umask's mode. The WAL inherits the mode.
  static func createPrivately(_ path: String) throws(StoreError) {
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw refusal("\(path) cannot be opened", code: code)
    }
    _ = Glibc.close(descriptor)
  }

  /// Maps an error number to a lasting or a passing failure. Permissions and missing files last; a lack of descriptors
  /// or space does not.
  ///
  /// - Parameter code: read before any text is built, which may set another one.
  private static func refusal(_ what: String, code: Int32) -> StoreError {
    let text = unsafe "\(what): \(String(cString: strerror(code)))"
    let isLasting = [EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EROFS].contains(code)
    return isLasting ? .unusable(text) : .unavailable(text)
  }
}
