import CLinux
import CSQLite
import Glibc
import Store

/// Keeps a second process away from the file: SQLite would let it write, but a checkpoint beside another connection's
/// commit can lose pages in SQLite 3.7.0 to 3.51.2 (the WAL-reset bug).
struct LockFile: ~Copyable {
  private let descriptor: Int32

  /// - Parameter file: as `resolve` names it, so that whoever comes by a link meets the same lock.
  init(of file: String) throws(StoreError) {
    let path = file + ".lock"
    let opened = unsafe lk_open_lock(path)
    guard opened >= 0 else { throw LockFile.refusal("\(path) cannot be opened", code: -opened) }
    let held = -lk_hold(opened)
    guard held == 0 else {
      _ = Glibc.close(opened)
      guard held == EWOULDBLOCK else { throw LockFile.refusal("\(path) cannot be locked", code: held) }
      throw .unavailable("\(path) is held by another process: one store file has one owner")
    }
    // Last: once all is set, `deinit` runs after a throw as well, and would close what is another's by then.
    descriptor = opened
  }

  /// The file itself stays: removing it would let two processes hold two locks of one name.
  deinit { _ = Glibc.close(descriptor) }

  /// Before a lock is made beside a file that is not there.
  static func requireFile(_ path: String) throws(StoreError) {
    guard unsafe Glibc.access(path, R_OK) == 0 else {
      let code = errno
      throw refusal("\(path) cannot be read", code: code)
    }
  }

  /// The one name, without links, of a file that is there. SQLite puts the log beside it.
  static func resolve(_ path: String) throws(StoreError) -> String {
    guard let resolved = unsafe Glibc.realpath(path, nil) else {
      let code = errno
      throw refusal("\(path) cannot be found", code: code)
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// Makes the file with mode 0600 before SQLite would make it with the umask's; its WAL inherits the mode.
  static func createPrivately(_ path: String) throws(StoreError) {
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw refusal("\(path) cannot be opened", code: code)
    }
    _ = Glibc.close(descriptor)
  }

  /// What an error number says of a name: who may, and what is there, stays as it is; a lack of descriptors or room
  /// does not. It is taken before a text is made, which may set another.
  private static func refusal(_ what: String, code: Int32) -> StoreError {
    let text = unsafe "\(what): \(String(cString: strerror(code)))"
    let isLasting = [EACCES, EPERM, ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EROFS].contains(code)
    return isLasting ? .unusable(text) : .unavailable(text)
  }
}
