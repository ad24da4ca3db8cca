// The conditions by which schemas reject a value that the program does not know.
//
// A released schema is never edited. A new case therefore needs a migration that widens the check. The conditions use
// OR: for IN, SQLite builds a temporary tree at each execution of a statement, which costs 15 allocations.

extension CaseIterable where Self: RawRepresentable, RawValue == String {
  /// An SQL condition: the column has one of the raw values, or is NULL.
  package static func check(_ column: String) -> String {
    allCases.map { "\(column) = '\($0.rawValue)'" }.joined(separator: " OR ")
  }
}

extension CaseIterable where Self: RawRepresentable, RawValue == Int {
  /// An SQL condition: the column has one of the raw values, or is NULL.
  package static func check(_ column: String) -> String {
    allCases.map { "\(column) = \($0.rawValue)" }.joined(separator: " OR ")
  }
}
