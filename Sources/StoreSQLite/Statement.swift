import CSQLite
import Store

/// A prepared statement. Values are bound and columns are read in order, one per call.
@safe final class Statement {
  private let handle: OpaquePointer
  private var bound: Int32 = 0
  private var bindCode = SQLITE_OK
  private var column: Int32 = 0
  /// The first stored value of the row that the program never wrote.
  var fault: String?
  /// The texts and blobs of this run, stored consecutively. SQLite would allocate memory for each.
  ///
  /// SQLite does copy what has no room, and the next run has room for that much.
  private var values = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var valueBytes = 0
  private static let valueBytesMax = 16 << 10

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit {
    _ = unsafe sqlite3_finalize(handle)
    unsafe values.deallocate()
  }

  // MARK: Running

  /// Moves to the next row. False: no row is left. After the last step, the caller must call `reset` and bind every
  /// value again.
  func step() throws(SQLiteError) -> Bool {
    assert(unsafe bound == sqlite3_bind_parameter_count(handle), "a parameter is not bound; reset drops earlier values")
    guard bindCode == SQLITE_OK else { throw SQLiteError(code: bindCode, text: "a value cannot be bound") }
    column = 0
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw unsafe SQLiteError.last(of: sqlite3_db_handle(handle))
  }

  func reset() {
    _ = unsafe sqlite3_reset(handle)
    bound = 0
    bindCode = SQLITE_OK
    if unsafe valueBytes > values.count && valueBytes <= Statement.valueBytesMax {
      unsafe values.deallocate()
      unsafe values = .allocate(byteCount: valueBytes, alignment: 1)
    }
    valueBytes = 0
  }

  /// Runs to the end and returns the number of changed rows.
  @discardableResult
  func run() throws(SQLiteError) -> Int64 {
    defer { reset() }
    while try step() {}
    return unsafe sqlite3_changes64(sqlite3_db_handle(handle))
  }

  /// Runs a statement that a key limits to one row, and returns whether it changed the row.
  func runHitsRow() throws(SQLiteError) -> Bool {
    let rows = try run()
    guard rows <= 1 else { throw .corrupt("a change of one row changed \(rows) rows") }
    return rows == 1
  }

  /// Runs an insert that adds its row or fails.
  func runInsert() throws(SQLiteError) {
    guard try runHitsRow() else { throw .corrupt("an insert added no row") }
  }

  // MARK: Binding

  private func next() -> Int32 {
    bound += 1
    return bound
  }

  private func note(_ code: Int32) -> Statement {
    if code != SQLITE_OK { bindCode = code }
    return self
  }

  func bind(_ value: Int64) -> Statement { note(unsafe sqlite3_bind_int64(handle, next(), value)) }

  func bind(_ value: Int) -> Statement { bind(Int64(value)) }

  func bind(_ value: Bool) -> Statement { bind(value ? 1 : 0) }

  func bind(_ value: Timestamp?) -> Statement { value.map { bind($0.millis) } ?? bindNull() }

  func bind(_ value: String?) -> Statement {
    guard var value else { return bindNull() }
    return value.withUTF8 { unsafe bind(UnsafeRawBufferPointer($0), as: csqlite_bind_text) }
  }

  func bind(_ value: [UInt8]?) -> Statement {
    guard let value else { return bindNull() }
    return unsafe value.withUnsafeBytes { unsafe bind($0, as: csqlite_bind_blob) }
  }

  func bind(_ value: Int64?) -> Statement { value.map { bind($0) } ?? bindNull() }

  private func bind(
    _ value: UnsafeRawBufferPointer,
    as call: (OpaquePointer, Int32, UnsafeRawPointer?, sqlite3_uint64, Int32) -> Int32
  ) -> Statement {
    let begun = valueBytes
    valueBytes += value.count
    guard unsafe valueBytes <= values.count, value.count > 0 else {
      return note(unsafe call(handle, next(), value.baseAddress, sqlite3_uint64(value.count), 0))
    }
    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: values[begun..<valueBytes])
    unsafe place.copyMemory(from: value)
    return note(unsafe call(handle, next(), place.baseAddress, sqlite3_uint64(place.count), 1))
  }

  func bind(_ value: Digest?) -> Statement { value.map { bind($0.bytes) } ?? bindNull() }

  private func bindNull() -> Statement { note(unsafe sqlite3_bind_null(handle, next())) }

  // MARK: Reading

  private func nextColumn() -> Int32 {
    defer { column += 1 }
    return column
  }

  func int64() -> Int64 { unsafe sqlite3_column_int64(handle, nextColumn()) }

  func int() -> Int { Int(int64()) }

  func bool() -> Bool { int64() != 0 }

  func timestamp() -> Timestamp { Timestamp(millis: int64()) }

  func optionalTimestamp() -> Timestamp? {
    guard unsafe sqlite3_column_type(handle, column) != SQLITE_NULL else {
      column += 1
      return nil
    }
    return timestamp()
  }

  func text() -> String { optionalText() ?? "" }

  func optionalText() -> String? {
    let column = nextColumn()
    guard let start = unsafe sqlite3_column_text(handle, column) else { return nil }
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func bytes() -> [UInt8] {
    let column = nextColumn()
    guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  func optionalInt64() -> Int64? {
    let column = nextColumn()
    guard unsafe sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
    return unsafe sqlite3_column_int64(handle, column)
  }

  /// Returns a blob, or the UTF-8 bytes of a text as stored.
  func optionalBytes() -> [UInt8]? {
    guard unsafe sqlite3_column_type(handle, column) != SQLITE_NULL else {
      column += 1
      return nil
    }
    return bytes()
  }
}
