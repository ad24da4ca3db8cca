import Glibc
import Store
import Synchronization
import Testing

@testable import StoreSQLite

@Suite struct FileTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test func `only the owner can read the file, its log and its lock`() async throws {
    let store = try SQLiteStore(path: folder.file)
    _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
    for name in ["store", "store-wal", "store-shm", "store.lock"] {
      var status = stat()
      #expect(unsafe stat("\(folder.path)/\(name)", &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600, "\(name)")
    }
    await store.close()
  }

  @Test func `a second store on the same file is refused until the first is closed`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    guard case .unavailable(let why) = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
    #expect(why.contains("held by another process"))
    await store.close()
    await (try SQLiteStore(path: folder.file)).close()
  }

  @Test func `an impossible path is rejected permanently`() throws {
    let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.path + "/none/store") }
    guard case .unusable = refusal else { throw StoreError.corrupt("\(String(describing: refusal))") }
  }

  @Test func `a file that is open is rejected under each of its names, also through symbolic links`() async throws {
    let (link, other) = (folder.path + "/link", folder.path + "-other")
    #expect(unsafe symlink("store", link) == 0 && symlink(folder.path, other) == 0)
    defer { for name in [link, other] { _ = unsafe unlink(name) } }
    // The link's target does not exist yet.
    let store = try SQLiteStore(path: link)
    for name in [folder.file, link, other + "/store"] {
      let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: name) }
      #expect("\(try #require(refusal))".contains("held by another process"), "\(name)")
      let moving = #expect(throws: StoreError.self) { try SQLiteTables(path: name) }
      #expect("\(try #require(moving))".contains("held by another process"), "\(name)")
    }
    await store.close()
    _ = try SQLiteTables(path: link)
  }

  @Test func `a store that was not closed releases its file`() async throws {
    var store: SQLiteStore? = try SQLiteStore(path: folder.file)
    _ = try await store?.commit(.account(.insert(AccountRecord("ann"))))
    store = nil
    let file = folder.file
    let reopened = try await eventually { try? SQLiteStore(path: file) }
    await reopened.close()
  }

  @Test func `commits are fully synchronous, and a connection that is not is refused`() throws {
    let connection = try folder.newFile()
    #expect(try connection.integer("PRAGMA synchronous") == 2)
    #expect(try connection.text("PRAGMA journal_mode") == "wal")
    try connection.execute("PRAGMA synchronous = NORMAL")
    #expect(throws: SQLiteError.self) { try connection.requireFullSync() }
  }

  @Test func `the file cannot contain code or a changed schema`() throws {
    let connection = try folder.newFile()
    #expect(try connection.integer("PRAGMA trusted_schema") == 0)
    #expect(try connection.integer("PRAGMA secure_delete") == 1)
    let loading = #expect(throws: SQLiteError.self) { try connection.execute("SELECT load_extension('x')") }
    #expect(try #require(loading).text == "not authorized")
    try connection.execute("PRAGMA writable_schema = ON")
    #expect(throws: SQLiteError.self) { try connection.execute("UPDATE sqlite_schema SET sql = ''") }
  }

  @Test func `a reader's connection cannot write`() throws {
    let writer = try folder.newFile()
    try Migrations.run(on: writer)
    let reader = try Connection.reader(path: folder.file, options: Options())
    let refusal = #expect(throws: SQLiteError.self) { try reader.execute("DELETE FROM accounts") }
    #expect(try #require(refusal).text == "attempt to write a readonly database")
  }

  @Test func `a file that is not a database is rejected as corrupt`() throws {
    try #require(write(text: String(repeating: "no database ", count: 100)))
    let refusal = #expect(throws: StoreError.self) { try SQLiteStore(path: folder.file) }
    #expect(refusal == .corrupt("file is not a database"))
  }

  @Test func `the version names the library and its source`() {
    #expect(SQLiteStore.version.hasPrefix("SQLite 3."))
    #expect(SQLiteStore.version.contains(", source 20"))
  }

  @Test func `a close leaves an empty log behind`() async throws {
    let store = try SQLiteStore(path: folder.file)
    _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
    await store.close()
    var status = stat()
    #expect(unsafe stat("\(folder.path)/store-wal", &status) == 0)
    #expect(status.st_size == 0)
  }

  @Test func `the log is moved into the file once it is long`() async throws {
    var options = Options()
    options.checkpointPages = 8
    let store = try SQLiteStore(path: folder.file, options: options)
    for number in 0..<200 { _ = try await store.commit(.account(.insert(AccountRecord("a\(number)")))) }
    var status = stat()
    #expect(unsafe stat("\(folder.path)/store-wal", &status) == 0)
    // Without truncation it would have about 800 pages.
    #expect(status.st_size < 120 * 4200)
    await store.close()
    #expect(try SQLiteTables(path: folder.file).integrityCheck() == ["ok"])
  }

  @Test func `a commit is synced before it is answered`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let before = Disk.syncs.load(ordering: .relaxed)
    _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
    #expect(Disk.syncs.load(ordering: .relaxed) > before)
    await store.close()
  }

  @Test func `a failed sync stops the process`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let folder = try Folder()
      let store = try SQLiteStore(path: folder.file)
      folder.remove()
      Disk.failsToSync.store(true, ordering: .relaxed)
      _ = try? await store.commit(.account(.insert(AccountRecord("ann"))))
    }
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(said.contains("the store cannot be synced to disk"))
  }

  private func write(text: String) -> Bool {
    guard let file = unsafe fopen(folder.file, "w") else { return false }
    defer { unsafe fclose(file) }
    return unsafe fputs(text, file) >= 0
  }
}

/// Repeats the call until it returns a value, for at most a minute.
func eventually<Value>(_ ask: () throws -> Value?) async throws -> Value {
  for _ in 0..<6_000 {
    if let value = try ask() { return value }
    try await Task.sleep(for: .milliseconds(10))
  }
  throw StoreError.unavailable("it never happened")
}
