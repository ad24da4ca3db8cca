import CSQLite
import Store

/// One SQLite connection, used by one thread at a time.
@safe final class Connection {
  private let handle: OpaquePointer
  private var isOpen = true
  /// Statements by the address of their literal or generated text, which are never freed. Each is prepared at its first
  /// use and kept.
  private var statements: [UInt: Statement] = [:]
  private let busyMillis: Int32
  private var patience: Patience?
  /// The number of WAL pages after the last commit, reported by SQLite.
  @safe private let walPageCount = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

  static var libraryVersion: String {
    unsafe "SQLite \(String(cString: sqlite3_libversion())), source \(String(cString: sqlite3_sourceid()))"
  }

  /// Disables memory statistics, which would send each allocation of each thread through one global lock.
  private static let withoutMemoryStatistics = csqlite_config_memory_statistics(0)

  private init(path: String, flags: Int32, busyMillis: Int32) throws(SQLiteError) {
    _ = Connection.withoutMemoryStatistics
    self.busyMillis = busyMillis
    var opened: OpaquePointer?
    let code = unsafe sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
    unsafe walPageCount.initialize(to: 0)
    guard let handle = unsafe opened else { throw SQLiteError(code: SQLITE_NOMEM, text: "no memory for a connection") }
    unsafe self.handle = handle
    guard code == SQLITE_OK else { throw unsafe SQLiteError.last(of: handle) }
    for (option, value) in [
      (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0), (SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
      (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
    ] {
      let code = unsafe csqlite_db_config(handle, option, Int32(value))
      guard code == SQLITE_OK else { throw SQLiteError(code: code, text: "SQLite rejects database option \(option)") }
    }
    _ = unsafe sqlite3_busy_timeout(handle, busyMillis)
    unsafe sqlite3_wal_hook(
      handle,
      { count, _, _, pages in
        unsafe count?.storeBytes(of: pages, as: Int32.self)
        return SQLITE_OK
      }, walPageCount)
  }

  deinit {
    close()
    unsafe walPageCount.deallocate()
  }

  /// Opens the writer's connection, the only one that checkpoints, and only on request. SQLite's own checkpoint at
  /// commit would delay the callers and would hide a failed sync.
  static func writer(path: String, options: Options) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, busyMillis: options.writerBusyMillis)
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw SQLiteError(code: SQLITE_ERROR, text: "\(path) cannot use a write-ahead log")
    }
    try connection.execute("PRAGMA synchronous = FULL")
    try connection.requireFullSync()
    try connection.execute("PRAGMA secure_delete = ON")
    try connection.execute("PRAGMA journal_size_limit = \(options.logBytesKept)")
    if let pagesMax = options.pagesMax { try connection.execute("PRAGMA max_page_count = \(pagesMax)") }
    try connection.size(cacheKiB: options.writerCacheKiB, mappedBytes: options.mappedBytes)
    return connection
  }

  /// Opens a connection without a memory mapping (`MappingPlan`).
  static func reader(path: String, options: Options) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY, busyMillis: options.readerBusyMillis)
    try connection.size(cacheKiB: options.readerCacheKiB, mappedBytes: 0)
    return connection
  }

  /// Opens the target of a copy. No one reads the copy before it is complete, and its requester syncs it. Each page is
  /// therefore written once, and no side file can be left behind.
  static func copy(path: String, options: Options) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE, busyMillis: 0)
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute("PRAGMA journal_mode = MEMORY")
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.size(cacheKiB: options.copyCacheKiB, mappedBytes: 0)
    return connection
  }

  /// Checks that `synchronous` is FULL. An acknowledged change must survive a power cut, so a library built otherwise
  /// must not serve.
  func requireFullSync() throws(SQLiteError) {
    let level = try integer("PRAGMA synchronous")
    guard level == 2 else { throw SQLiteError(code: SQLITE_ERROR, text: "synchronous is \(level), not FULL") }
  }

  private func size(cacheKiB: Int, mappedBytes: Int64) throws(SQLiteError) {
    try execute("PRAGMA cache_size = -\(cacheKiB)")
    try map(bytes: mappedBytes)
    try execute("PRAGMA temp_store = MEMORY")
  }

  /// Reads the first bytes of the file through a memory mapping from the next transaction on. 0 removes the mapping.
  func map(bytes: Int64) throws(SQLiteError) { try execute("PRAGMA mmap_size = \(bytes)") }

  /// Whether a transaction is open. SQLite may roll it back on FULL, IOERR and NOMEM.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  var walPages: Int32 { walPageCount.pointee }

  func execute(_ sql: String) throws(SQLiteError) {
    guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      throw unsafe SQLiteError.last(of: handle)
    }
  }

  func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    var prepared: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let statement = unsafe prepared else { throw unsafe SQLiteError.last(of: handle) }
    return unsafe Statement(statement)
  }

  /// Returns the statement of this literal, prepared once.
  func statement(_ sql: StaticString) throws(SQLiteError) -> Statement {
    let key = unsafe UInt(bitPattern: sql.utf8Start)
    if let statement = statements[key] { return statement }
    return try keep(sql.description, key)
  }

  /// Returns the statement of this generated text, prepared once.
  func statement(_ sql: GeneratedSQL) throws(SQLiteError) -> Statement {
    let key = UInt(bitPattern: ObjectIdentifier(sql))
    if let statement = statements[key] { return statement }
    return try keep(sql.text, key)
  }

  private func keep(_ sql: String, _ key: UInt) throws(SQLiteError) -> Statement {
    let statement = try prepare(sql)
    statements[key] = statement
    return statement
  }

  func integer(_ sql: String) throws(SQLiteError) -> Int64 {
    let statement = try prepare(sql)
    return try statement.step() ? statement.int64() : 0
  }

  func text(_ sql: String) throws(SQLiteError) -> String {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text() : ""
  }

  func texts(_ sql: String) throws(SQLiteError) -> [String] {
    let statement = try prepare(sql)
    var texts: [String] = []
    while try statement.step() { texts.append(statement.text()) }
    return texts
  }

  /// Begins a copy of the pages of `main` as this connection's open transaction sees them.
  func pageCopy(to copy: Connection) throws(SQLiteError) -> PageCopy {
    guard let backup = unsafe sqlite3_backup_init(copy.handle, "main", handle, "main") else {
      throw unsafe SQLiteError.last(of: copy.handle)
    }
    return unsafe PageCopy(backup)
  }

  /// Interrupts later statements with SQLITE_INTERRUPT once `isWanted` returns false.
  /// - Parameter steps: SQLite virtual machine steps, or pages of a check, between two calls of `isWanted`.
  func giveUp(every steps: Int32 = 100_000, unless isWanted: @escaping @Sendable () -> Bool) {
    let patience = Patience(isWanted)
    self.patience = patience
    unsafe sqlite3_progress_handler(
      handle, steps,
      { raw in
        guard let raw = unsafe raw else { return 0 }
        return unsafe Unmanaged<Patience>.fromOpaque(raw).takeUnretainedValue().isWanted() ? 0 : 1
      }, Unmanaged.passUnretained(patience).toOpaque())
  }

  /// Checkpoints the WAL. PASSIVE moves as much as readers allow. Other modes move everything and wait for readers, up
  /// to `busyMillis` or the timeout for any lock.
  func checkpoint(_ mode: Int32 = SQLITE_CHECKPOINT_PASSIVE, busyMillis: Int32? = nil) throws(SQLiteError) {
    if let busyMillis { _ = unsafe sqlite3_busy_timeout(handle, busyMillis) }
    defer { if busyMillis != nil { _ = unsafe sqlite3_busy_timeout(handle, self.busyMillis) } }
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
    guard code == SQLITE_OK else { throw unsafe SQLiteError.last(of: handle) }
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    statements = [:]
    _ = unsafe sqlite3_close_v2(handle)
  }
}

/// The check that a connection makes during a long statement.
private final class Patience {
  let isWanted: @Sendable () -> Bool

  init(_ isWanted: @escaping @Sendable () -> Bool) { self.isWanted = isWanted }
}

extension SQLiteError {
  static func last(of connection: OpaquePointer?) -> SQLiteError {
    unsafe SQLiteError(code: sqlite3_extended_errcode(connection), text: String(cString: sqlite3_errmsg(connection)))
  }
}
