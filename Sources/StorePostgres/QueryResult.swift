import CPostgres
import Store

/// The rows that a statement returned. The caller steps through the rows and reads the columns of each in order.
@safe final class QueryResult {
  private let handle: OpaquePointer
  private var row: Int32 = -1
  private var column: Int32 = 0
  /// The first stored value of the row that the program never wrote.
  var fault: String?

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe PQclear(handle) }

  /// Moves to the next row. False: no row is left.
  func step() -> Bool {
    row += 1
    column = 0
    return unsafe row < PQntuples(handle)
  }

  /// Whether a COMMIT has committed. In a failed transaction the server reports ROLLBACK instead, without an error.
  var isCommit: Bool { unsafe String(cString: PQcmdStatus(handle)) == "COMMIT" }

  // MARK: Columns

  private func next() -> Int32 {
    defer { column += 1 }
    return column
  }

  private func bytes(of column: Int32) -> UnsafeRawBufferPointer? {
    guard unsafe PQgetisnull(handle, row, column) == 0, let start = unsafe PQgetvalue(handle, row, column) else {
      return nil
    }
    return unsafe UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(handle, row, column)))
  }

  func optionalInt64() throws(RequestError) -> Int64? {
    guard let bytes = unsafe bytes(of: next()) else { return nil }
    guard bytes.count == 8 else { throw .corrupt("an integer of \(bytes.count) bytes") }
    return unsafe bytes.reduce(0) { $0 << 8 | Int64($1) }
  }

  func int64() throws(RequestError) -> Int64 {
    guard let value = try optionalInt64() else { throw .corrupt("an integer that is NULL") }
    return value
  }

  func int() throws(RequestError) -> Int { Int(try int64()) }

  func bool() throws(RequestError) -> Bool {
    guard let bytes = unsafe bytes(of: next()), bytes.count == 1 else { throw .corrupt("a value is not a boolean") }
    return unsafe bytes[0] != 0
  }

  func timestamp() throws(RequestError) -> Timestamp { Timestamp(millis: try int64()) }

  func optionalTimestamp() throws(RequestError) -> Timestamp? { try optionalInt64().map { Timestamp(millis: $0) } }

  func text() -> String { optionalText() ?? "" }

  func optionalText() -> String? { unsafe bytes(of: next()).map { unsafe String(decoding: $0, as: UTF8.self) } }

  func bytes() -> [UInt8] { unsafe bytes(of: next()).map { unsafe [UInt8]($0) } ?? [] }

  func optionalBytes() -> [UInt8]? { unsafe bytes(of: next()).map { unsafe [UInt8]($0) } }

  /// Passes over columns.
  func skip(_ count: Int) { column += Int32(count) }
}
