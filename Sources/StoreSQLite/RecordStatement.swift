import Store

/// The text of a statement that is generated from columns. Its identity is the key under which a connection keeps the
/// prepared statement.
final class GeneratedSQL: Sendable {
  let text: String

  init(_ text: String) { self.text = text }
}

extension Statement: ParameterBinding {
  /// Reads a record from the next columns.
  ///
  /// - Parameter ownerID: the account of a record that depends on one. Its column is not read.
  func record<Record: StoredRecord>(ownerID: String = "") throws(SQLiteError) -> Record {
    var record = Record.blank
    record.visit(RowReader(row: self, ownerID: ownerID))
    if let fault {
      self.fault = nil
      throw .corrupt(fault)
    }
    return record
  }
}

private struct RowReader: ColumnVisitor {
  let row: Statement
  let ownerID: String

  func column(_ name: StaticString, _ value: inout String) { value = row.text() }
  func column(_ name: StaticString, _ value: inout String?) { value = row.optionalText() }
  func column(_ name: StaticString, _ value: inout Int64) { value = row.int64() }
  func column(_ name: StaticString, _ value: inout Int64?) { value = row.optionalInt64() }
  func column(_ name: StaticString, _ value: inout Bool) { value = row.bool() }
  func column(_ name: StaticString, _ value: inout [UInt8]) { value = row.bytes() }
  func column(_ name: StaticString, _ value: inout [UInt8]?) { value = row.optionalBytes() }
  func owner(_ name: StaticString, _ accountID: inout String) { accountID = ownerID }
  func reject(_ name: StaticString, _ why: String) { row.fault = row.fault ?? "\(name): \(why)" }
}
