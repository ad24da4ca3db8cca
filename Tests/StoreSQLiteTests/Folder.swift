import Glibc
import Store

@testable import StoreSQLite

/// A folder of one test, gone with it.
final class Folder: Sendable {
  let path: String
  var file: String { path + "/store" }

  init() throws {
    var template = Array("/tmp/latchkey-store-XXXXXX".utf8CString)
    guard let made = unsafe mkdtemp(&template) else { throw StoreError.unavailable("no temporary folder") }
    path = unsafe String(cString: made)
  }

  deinit { remove() }

  /// For a process that will not live to see its end; open files stay usable.
  func remove() {
    for name in ["store", "store-wal", "store-shm", "store.lock"] { _ = unsafe unlink("\(path)/\(name)") }
    _ = unsafe rmdir(path)
  }
}

extension Store {
  func commit(_ writes: Write...) async throws -> Outcome { try await commit(Change(writes), fate: Fate()) }
}

extension AccountRecord {
  init(_ id: String) { self.init(id: id, createdAt: Timestamp(millis: 0)) }
}
