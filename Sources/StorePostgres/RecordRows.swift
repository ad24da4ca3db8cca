import Store

extension BoundStatement: ParameterBinding {}

extension QueryResult {
  /// Reads a record from the next columns.
  ///
  /// - Parameter ownerID: the account of a record that depends on one. Its column is not read.
  func record<Record: StoredRecord>(
    _: Record.Type = Record.self, ownerID: String = ""
  ) throws(RequestError) -> Record {
    var record = Record.blank
    record.visit(RowReader(row: self, ownerID: ownerID))
    if let fault { throw .corrupt(fault) }
    return record
  }
}

extension StoredRecord {
  /// The placeholders with their types, for a SELECT, which gives the server no types.
  static var typedPlaceholders: [(name: String, placeholder: String)] {
    columns.enumerated().map { ($1.name, "$\($0 + 1)::\($1.kind.type)") }
  }
}

extension StoredColumn.Kind {
  var type: String {
    switch self {
    case .text: "text"
    case .integer: "bigint"
    case .boolean: "boolean"
    case .bytes: "bytea"
    }
  }
}

private struct RowReader: ColumnVisitor {
  let row: QueryResult
  let ownerID: String

  func column(_ name: StaticString, _ value: inout String) { value = row.text() }
  func column(_ name: StaticString, _ value: inout String?) { value = row.optionalText() }
  func column(_ name: StaticString, _ value: inout [UInt8]) { value = row.bytes() }
  func column(_ name: StaticString, _ value: inout [UInt8]?) { value = row.optionalBytes() }
  func column(_ name: StaticString, _ value: inout Int64) {
    read(name, &value) { row throws(RequestError) in try row.int64() }
  }
  func column(_ name: StaticString, _ value: inout Int64?) {
    read(name, &value) { row throws(RequestError) in try row.optionalInt64() }
  }
  func column(_ name: StaticString, _ value: inout Bool) {
    read(name, &value) { row throws(RequestError) in try row.bool() }
  }
  func owner(_ name: StaticString, _ accountID: inout String) { accountID = ownerID }
  func reject(_ name: StaticString, _ why: String) { row.fault = row.fault ?? "\(name): \(why)" }

  private func read<Value>(
    _ name: StaticString, _ value: inout Value, _ body: (QueryResult) throws(RequestError) -> Value
  ) {
    do throws(RequestError) {
      value = try body(row)
    } catch {
      reject(name, "\(error.storeError)")
    }
  }
}
