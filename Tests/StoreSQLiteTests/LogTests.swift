import Glibc
import Testing

@testable import StoreSQLite

@Suite struct LogTests {
  let folder: Folder
  private let writer: Connection

  init() throws {
    folder = try Folder()
    try LockFile.createPrivately(folder.file)
    var options = Options()
    options.writerCacheKiB = 16
    writer = try Connection.writer(path: folder.file, options: options)
    try writer.execute("CREATE TABLE pages (number INTEGER PRIMARY KEY, body BLOB NOT NULL)")
    try writer.gatherLog()
  }

  private func insert(_ count: Int) throws {
    for _ in 0..<count { try writer.execute("INSERT INTO pages (body) VALUES (randomblob(3000))") }
  }

  private var logBytes: Int {
    get throws {
      var status = stat()
      try #require(unsafe stat(folder.file + "-wal", &status) == 0)
      return Int(status.st_size)
    }
  }

  private func countOfOthers() throws -> Int64 {
    try Connection.reader(path: folder.file, options: Options()).integer("SELECT count(*) FROM pages")
  }

  @Test func `nothing of a transaction is in the log before its commit, and all of it after`() throws {
    let before = try logBytes
    try writer.execute("BEGIN IMMEDIATE")
    // More than is gathered, and than the cache has room for.
    try insert(200)
    #expect(try logBytes == before)
    #expect(try countOfOthers() == 0)
    try writer.execute("COMMIT")
    #expect(try logBytes >= before + 200 * 4096)
    #expect(try countOfOthers() == 200)
  }

  @Test func `commits of one page and of many, rolled back ones and checkpoints leave the file whole`() throws {
    var committed: Int64 = 0
    for (round, pages) in [1, 31, 32, 33, 200, 1, 64, 3].enumerated() {
      for isKept in [true, false] {
        try writer.execute("BEGIN IMMEDIATE")
        try insert(pages)
        try writer.execute("UPDATE pages SET body = randomblob(2000) WHERE number % 7 = \(round)")
        try writer.execute(isKept ? "COMMIT" : "ROLLBACK")
        if isKept { committed += Int64(pages) }
        #expect(try countOfOthers() == committed)
      }
      if round % 2 == 1 { try writer.checkpoint() }
    }
    writer.close()
    let other = try Connection.reader(path: folder.file, options: Options())
    #expect(try other.text("PRAGMA integrity_check") == "ok")
    #expect(try other.integer("SELECT count(*) FROM pages") == committed)
  }

  @Test func `a log that is padded to sectors is written as SQLite writes it`() throws {
    let padded = try Connection.writer(path: "file:\(folder.file)?psow=0", options: Options())
    try padded.gatherLog()
    for committed in 1...20 {
      try padded.execute("INSERT INTO pages (body) VALUES (randomblob(3000))")
      #expect(try countOfOthers() == committed)
    }
  }
}
