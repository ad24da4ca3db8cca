/// A statement whose parameters are bound in order, one per call.
package protocol ParameterBinding {
  func bind(_ value: String?) -> Self
  func bind(_ value: Int64) -> Self
  func bind(_ value: Int64?) -> Self
  func bind(_ value: Bool) -> Self
  func bind(_ value: [UInt8]?) -> Self
}

extension ParameterBinding {
  /// Binds every column of a record, in column order, except the named one.
  package func bind(_ record: some StoredRecord, except name: String? = nil) -> Self {
    var record = record
    record.visit(ColumnBinder(statement: self, except: name))
    return self
  }
}

private struct ColumnBinder<Statement: ParameterBinding>: ColumnVisitor {
  let statement: Statement
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
