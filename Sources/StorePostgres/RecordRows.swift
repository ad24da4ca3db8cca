import Store

extension BoundStatement {
  /// Binds every column of a record, in column order, except the named one.
  func bind(_ record: some StoredRecord, except name: String? = nil) -> BoundStatement {
    var record = record
    record.visit(ColumnBinder(statement: self, except: name))
    return self
  }
}

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
  /// The placeholders with their types, for a SELECT, which tells the server no types.
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

private struct ColumnBinder: ColumnVisitor {
  let statement: BoundStatement
  let except: String?

  private func includes(_ name: StaticString) -> Bool { except.map { $0 != name.description } ?? true }

  func column(_ name: StaticString, _ value: inout String) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout String?) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout Int64) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout Int64?) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout Bool) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout [UInt8]) { if includes(name) { _ = statement.bind(value) } }
  func column(_ name: StaticString, _ value: inout [UInt8]?) { if includes(name) { _ = statement.bind(value) } }
  func owner(_ name: StaticString, _ accountID: inout String) { _ = statement.bind(accountID) }
  func reject(_ name: StaticString, _ why: String) { preconditionFailure("\(name): \(why)") }
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
