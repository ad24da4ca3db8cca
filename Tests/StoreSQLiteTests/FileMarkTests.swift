import Glibc
import Store
import Testing

@testable import StoreSQLite

private let decisions: [(record: FileMark?, mark: UInt32?, logBytes: Int64, expected: FileMark.Finding)] = [
  (nil, 7, 1, .fits), (FileMark([7]), 7, 1, .fits), (FileMark([1, 7, 3]), 7, 1, .fits),
  // A program without marks wrote the file.
  (FileMark([], replacement: 8), 7, 1, .fits),
  (FileMark([7], replacement: 8), 7, 1, .fits), (FileMark([7], replacement: 8), 8, 1, .leftByRestore),
  (FileMark([7], replacement: 8), 9, 1, .foreign), (FileMark([7]), 0, 1, .foreign), (FileMark([7]), 8, 1, .foreign),
  // SQLite decides about a damaged file.
  (FileMark([7]), nil, 1, .fits),
  // An empty log harms no file.
  (FileMark([7]), 8, 0, .fits), (FileMark([7], replacement: 8), 8, 0, .fits),
]

@Suite struct FileMarkTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test(arguments: decisions.indices)
  func `whether a log belongs to a file follows from the record, the mark and the length of the log`(index: Int) {
    let row = decisions[index]
    #expect(FileMark.decide(row.record, mark: row.mark, logBytes: row.logBytes) == row.expected)
  }

  @Test func `a record keeps its length, and reads back`() {
    for record in [
      FileMark([]), FileMark([0]), FileMark([.max, .max, .max], replacement: .max), FileMark([1, 2]),
      FileMark([], replacement: 5),
    ] {
      #expect(record.bytes.count == FileMark.byteCount && FileMark(record: record.bytes) == record)
    }
    #expect(FileMark([1, 2, 3, 4]).marks == [1, 2, 3])
  }

  @Test func `a torn or empty record counts as none`() {
    let bytes = FileMark([1, 2]).bytes
    let zeros = [UInt8](repeating: 0, count: 64)
    let halves = [Array(zeros[..<32] + bytes[32...]), Array(bytes[..<32] + zeros[32...])]
    for torn in [[], Array(bytes.dropLast()), zeros] + halves {
      #expect(FileMark(record: torn) == nil)
    }
    let unreadable = Array("latchkey-store 1 marks xyz".utf8) + [UInt8](repeating: 32, count: 37) + [10]
    #expect(FileMark(record: unreadable) == nil)
  }

  // MARK: With files

  /// Ends a store as a crash does: its files stay as they are, with a log that has content.
  private func crashed(_ accounts: String...) async throws {
    var store: SQLiteStore? = try SQLiteStore(path: folder.file)
    for id in accounts { _ = try await store?.commit(.account(.insert(AccountRecord(id)))) }
    for suffix in ["", "-wal", ".lock"] { copy(folder.file + suffix, folder.path + "/crashed" + suffix) }
    await store?.close()
    store = nil
    for suffix in ["", "-wal", ".lock"] { move(folder.path + "/crashed" + suffix, folder.file + suffix) }
    #expect(fileBytes(folder.file + "-wal") > 0)
  }

  private func copy(_ from: String, _ to: String) {
    let bytes = read(from)
    let file = unsafe fopen(to, "w")
    _ = unsafe fwrite(bytes, 1, bytes.count, file)
    unsafe fclose(file)
  }

  private func read(_ path: String) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(fileBytes(path)))
    let file = unsafe fopen(path, "r")
    _ = unsafe fread(&bytes, 1, bytes.count, file)
    unsafe fclose(file)
    return bytes
  }

  private func move(_ from: String, _ to: String) { #expect(unsafe rename(from, to) == 0) }

  private func accounts() async throws -> [String] {
    let store = try SQLiteStore(path: folder.file)
    var query = Query()
    query.page = PageOrder(afterID: nil, accountsMax: 99)
    let ids = try await store.load(query).page.map(\.account.id)
    await store.close()
    return ids
  }

  /// A backup of a store with these accounts.
  private func backup(_ accounts: String...) async throws -> String {
    let other = try Folder()
    let place = folder.path + "/backup"
    let store = try SQLiteStore(path: other.file)
    for id in accounts { _ = try await store.commit(.account(.insert(AccountRecord(id)))) }
    try LockFile.createPrivately(place)
    _ = try await store.copy(to: place) { true }
    await store.close()
    return place
  }

  @Test func `a store continues after a crash, also when its files were moved with or without the lock file`()
    async throws
  {
    try await crashed("ann", "bob")
    #expect(try await accounts() == ["ann", "bob"])
    try await crashed("eve")
    _ = unsafe unlink(folder.file + ".lock")
    #expect(try await accounts() == ["ann", "bob", "eve"])
  }

  @Test func `each start gives the file a new mark, and leaves an empty log`() async throws {
    var marks: Set<UInt32> = []
    for _ in 0..<3 {
      let store = try SQLiteStore(path: folder.file)
      let mark = try #require(try FileMark.ofFile(folder.file))
      #expect(mark != 0 && marks.insert(mark).inserted && fileBytes(folder.file + "-wal") == 0)
      #expect(FileMark(record: read(folder.file + ".lock")) == FileMark([mark]))
      await store.close()
    }
  }

  @Test func `a backup has no mark, so it is refused next to the log of the file that it was copied over`()
    async throws
  {
    let backup = try await backup("old")
    #expect(try FileMark.ofFile(backup) == 0)
    try await crashed("ann")
    copy(backup, folder.file)
    let log = read(folder.file + "-wal")
    for _ in 0..<2 {
      let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
      guard case .unusable(let why) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
      #expect(why.contains("-wal belongs to another database file") && why.contains("latchkey restore"))
      #expect(throws: StoreError.self) { try SQLiteTables(path: folder.file) }
    }
    #expect(read(folder.file) == read(backup) && read(folder.file + "-wal") == log, "nothing was touched")
    _ = unsafe unlink(folder.file + "-wal")
    _ = unsafe unlink(folder.file + "-shm")
    #expect(try await accounts() == ["old"])
  }

  @Test func `a file of an earlier run is refused next to a later log, even in the same place on the disk`()
    async throws
  {
    try await crashed("ann")
    #expect(try await accounts() == ["ann"])
    copy(folder.file, folder.path + "/earlier")
    try await crashed("bob")
    copy(folder.path + "/earlier", folder.file)
    #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
  }

  // MARK: Restore

  /// The end of a process, for which nothing is cleaned up.
  private struct Killed: Error {}

  private func restored(_ backup: String, endingAfter end: RestoredFile.Step? = nil, keeping: String? = nil) throws {
    let file = try RestoredFile(of: folder.file)
    try file.write(read(backup))
    #expect(try file.check().accountCount == 1)
    file.reached = { if $0 == end { throw Killed() } }
    try file.publish(keepingAs: keeping)
  }

  @Test func `a restored file replaces a crashed one with its log, which stays under another name`() async throws {
    let backup = try await backup("old")
    try await crashed("ann", "bob")
    try restored(backup, keeping: ".before-now")
    for suffix in ["-wal", "-shm", ".restore-draft", ".restore-draft-wal"] {
      #expect(unsafe access(folder.file + suffix, F_OK) != 0, "\(suffix)")
    }
    var status = stat()
    #expect(unsafe stat(folder.file, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try await accounts() == ["old"])
    // The former file is complete with its log.
    for suffix in ["", "-wal"] { move(folder.file + ".before-now" + suffix, folder.file + suffix) }
    _ = unsafe unlink(folder.file + ".lock")
    #expect(try await accounts() == ["ann", "bob"])
  }

  @Test(arguments: RestoredFile.Step.allCases, [nil, ".before-now"])
  func `a restore that ends after any step leaves the former file or the restored one`(
    end: RestoredFile.Step, keeping: String?
  ) async throws {
    let backup = try await backup("old")
    try await crashed("ann")
    #expect(throws: Killed.self) { try restored(backup, endingAfter: end, keeping: keeping) }
    let isDone = end != .kept && end != .announced
    #expect(try await accounts() == (isDone ? ["old"] : ["ann"]))
    // It can be repeated, and removes what the first one left.
    try restored(backup)
    #expect(try await accounts() == ["old"])
  }

  @Test func `a further name of a file that was not replaced is removed by the next restore`() async throws {
    let backup = try await backup("old")
    try await crashed("ann")
    #expect(throws: Killed.self) { try restored(backup, endingAfter: .kept, keeping: ".before-now") }
    #expect(unsafe access(folder.file + ".before-now-wal", F_OK) == 0)
    try restored(backup)
    for suffix in ["", "-wal"] { #expect(unsafe access(folder.file + ".before-now" + suffix, F_OK) != 0) }
  }

  @Test func `a restore is the remedy for a foreign log`() async throws {
    let backup = try await backup("old")
    try await crashed("ann")
    copy(backup, folder.file)
    #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    try restored(backup, keeping: ".before-now")
    #expect(try await accounts() == ["old"])
    #expect(unsafe access(folder.file + ".before-now-wal", F_OK) != 0, "the log is not one of the former file")
    #expect(fileBytes(folder.file + ".before-now.foreign-wal") > 0)
  }

  @Test func `a restore makes a new file`() async throws {
    let backup = try await backup("old")
    try restored(backup, keeping: ".before-now")
    #expect(try await accounts() == ["old"])
  }

  @Test func `a file that a store uses is not restored, and a store does not start during a restore`() async throws {
    let backup = try await backup("old")
    let store = try SQLiteStore(path: folder.file)
    let refusal = #expect(throws: RestoredFileError.self) { try restored(backup) }
    guard case .target(let why) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
    #expect(why.contains("held by another process"))
    await store.close()
    let file = try RestoredFile(of: folder.file)
    #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    try file.write([1])
  }

  @Test func `content that is damaged, foreign or newer is rejected, and leaves nothing`() async throws {
    let backup = try await backup("old")
    try await crashed("ann")
    var damaged = read(backup)
    for offset in stride(from: 4096 * 2, to: damaged.count, by: 4096) {
      for at in offset..<offset + 64 { damaged[at] = 0xff }
    }
    copy(backup, folder.path + "/newer")
    let connection = try Connection.copy(path: folder.path + "/newer", options: Options())
    try connection.execute("UPDATE schema_version SET min_reader_version = 99")
    try connection.execute("PRAGMA user_version = 99")
    connection.close()
    let newer = read(folder.path + "/newer")
    for (content, why) in [
      ([], "not a database of this service"), (Array("no database".utf8), "not a database"), (damaged, "malformed"),
      (newer, "newer version"), (Array(damaged.prefix(8_192)), "malformed"),
    ] as [([UInt8], String)] {
      let file = try RestoredFile(of: folder.file)
      try file.write(content)
      let refusal = #expect(throws: RestoredFileError.self) { try file.check() }
      guard case .content(let text) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
      #expect(text.contains(why), "\(text)")
    }
    #expect(try await accounts() == ["ann"])
    #expect(unsafe access(folder.file + ".restore-draft", F_OK) != 0)
  }
}
