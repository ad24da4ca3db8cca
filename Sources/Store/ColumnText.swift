// The parts of statements that SQL backends generate from columns. Values are bound in column order, so the placeholder
// of a column is its number behind the backend's mark ("?" or "$").

extension [StoredColumn] {
  package func without(_ names: String...) -> [StoredColumn] { filter { !names.contains($0.name) } }

  /// `id, version`
  package var names: String { map(\.name).joined(separator: ", ") }

  /// `a.id, a.version`
  package func names(of alias: String) -> String { map { "\(alias).\($0.name)" }.joined(separator: ", ") }

  /// `$1, $2`
  package func placeholders(_ mark: String) -> String {
    indices.map { "\(mark)\($0 + 1)" }.joined(separator: ", ")
  }

  /// The placeholder of one column.
  package func placeholder(_ mark: String, _ name: String) -> String {
    guard let index = firstIndex(where: { $0.name == name }) else { preconditionFailure("there is no column \(name)") }
    return "\(mark)\(index + 1)"
  }

  /// `email = $3, display_name = $4`
  package func assignments(_ mark: String, except names: String...) -> String {
    enumerated().filter { !names.contains($1.name) }.map { "\($1.name) = \(mark)\($0 + 1)" }.joined(separator: ", ")
  }

  /// `count = excluded.count, since = excluded.since`: takes over the row of an insert that met an existing one.
  package func takingOver(except names: String...) -> String {
    filter { !names.contains($0.name) }.map { "\($0.name) = excluded.\($0.name)" }.joined(separator: ", ")
  }
}

extension StoredRecord {
  /// A statement that inserts the record.
  package static func insert(_ mark: String) -> String {
    "INSERT INTO \(table.name) (\(columns.names)) VALUES (\(columns.placeholders(mark)))"
  }

  package static func select(_ condition: String) -> String {
    "SELECT \(columns.names) FROM \(table.name) \(condition)"
  }
}
