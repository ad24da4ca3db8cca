import Store
import TestSupport

@testable import StoreSQLite

/// A folder for one test with the store's file in it. Removed after the test.
final class Folder: Sendable {
  private let folder: TemporaryFolder
  var path: String { folder.path }
  var file: String { path + "/store" }

  init() throws { folder = try TemporaryFolder() }

  func remove() { folder.remove() }

  /// Makes the file, still without tables, and opens a connection.
  func newFile() throws -> Connection {
    try LockFile.createPrivately(file)
    return try Connection.writer(path: file, options: Options())
  }
}

extension Store {
  func commit(_ writes: Write...) async throws -> Outcome {
    try await commit(Change(writes), commitDecision: CommitDecision())
  }
}

extension AccountRecord {
  init(_ id: String) { self.init(id: id, createdAt: Timestamp(millis: 0)) }
}

extension Reader {
  static func withoutCaches(path: String, options: Options = Options()) throws -> Reader {
    var options = options
    options.accountsKept = 0
    let marks = CommitMarks()
    return try Reader(
      path: path, options: options, marks: marks, methods: SignInMethodsCache(accounts: 0, bytesMax: 0, marks: marks))
  }
}
