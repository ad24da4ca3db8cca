import Glibc
import Store
import Testing

@testable import StoreSQLite

@Suite struct SnapshotTests {
  let folder: Folder
  let store: SQLiteStore

  init() throws {
    folder = try Folder()
    store = try SQLiteStore(path: folder.file)
  }

  private static let ann: Query = {
    var query = Query()
    query.accountID = "ann"
    return query
  }()

  @Test func `a turn reads from one snapshot, and the next turn sees the commits since`() async throws {
    try await ReactorThread.run(on: store) { [store] () async throws in
      #expect(try store.now(Self.ann) == Facts())
      #expect(try await store.commit(.account(.insert(AccountRecord("ann")))) == .committed)
      #expect(try store.now(Self.ann) == Facts())
      store.endTurn()
      #expect(try store.now(Self.ann)?.account?.account.id == "ann")
    }
    await store.close()
  }

  @Test func `a load on an attached thread replaces the turn's snapshot with a newer one`() async throws {
    try await ReactorThread.run(on: store) { [store] () async throws in
      #expect(try store.now(Self.ann) == Facts())
      _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
      #expect(try await store.load(Self.ann).account?.account.version == 1)
      _ = try await store.commit(.account(.raise(id: "ann", version: 1)))
      #expect(try store.now(Self.ann)?.account?.account.version == 1)
      store.endTurn()
      #expect(try store.now(Self.ann)?.account?.account.version == 2)
    }
    await store.close()
  }

  @Test func `a thread that is not attached gets no immediate answer`() async throws {
    #expect(try store.now(Self.ann) == nil)
    try await ReactorThread.run(on: store) { [store] () async throws in
      store.detachThread()
      #expect(try store.now(Self.ann) == nil)
    }
    await store.close()
  }

  @Test func `an attached thread reads nothing once the store is closed`() async throws {
    let store = store
    await #expect(throws: StoreError.closed) {
      try await ReactorThread.run(on: store) {
        _ = try store.now(Self.ann)
        store.endTurn()
        await store.close()
        _ = try store.now(Self.ann)
      }
    }
  }

  @Test func `a row that this program never wrote is reported as corrupt and causes no crash`() async throws {
    let connection = try Connection.writer(path: folder.file, options: Options())
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    for (damage, word) in [("tier = 9", "tier"), ("email_verification = 'x'", "EmailVerification")] {
      _ = try await store.commit(
        .account(.insert(AccountRecord(word))),
        .identity(.insert(
          IdentityRecord(
            assertion: Assertion(identity: IdentityKey(providerID: "p", subject: word)), accountID: word,
            linkedAt: Timestamp(millis: 0)))))
      let table = word == "tier" ? "identities" : "accounts"
      try connection.execute("UPDATE \(table) SET \(damage)")
      let error = await #expect(throws: StoreError.self) { try await load(word) }
      #expect("\(try #require(error))".contains(word))
      try connection.execute("DELETE FROM identities")
    }
    await store.close()
  }

  @Test func `a read error of the disk fails one load, and no later one`() async throws {
    _ = try await store.commit(.account(.insert(AccountRecord("ann"))))
    await store.close()
    var options = Options()
    options.mappedBytes = 0
    let reader = try Reader.withoutCaches(path: folder.file, options: options)
    try open(O_WRONLY)
    let failure = #expect(throws: SQLiteError.self) { try reader.facts(Self.ann) }
    #expect(try #require(failure).code & 0xff == 10, "SQLITE_IOERR")
    reader.endSnapshot()
    try open(O_RDWR)
    #expect(try reader.facts(Self.ann).account?.account.id == "ann")
    reader.endSnapshot()
  }

  /// Replaces each of this process's descriptors of the file with one in this mode.
  private func open(_ mode: Int32) throws {
    let file = unsafe Glibc.open(folder.file, mode | O_CLOEXEC)
    try #require(file >= 0)
    defer { close(file) }
    var opened = stat()
    unsafe fstat(file, &opened)
    for descriptor in Int32(0)..<1024 where descriptor != file {
      var other = stat()
      guard unsafe fstat(descriptor, &other) == 0, other.st_dev == opened.st_dev, other.st_ino == opened.st_ino else {
        continue
      }
      #expect(dup2(file, descriptor) == descriptor)
    }
  }

  private func load(_ id: String) async throws -> Facts {
    var query = Query()
    query.accountID = id
    return try await store.load(query)
  }
}
