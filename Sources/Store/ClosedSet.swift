extension CaseIterable where Self: RawRepresentable, RawValue == String {
  /// Every raw value as an SQL string literal, separated by commas. Schemas reject any other value.
  ///
  /// A released schema is never edited. A new case therefore needs a migration that widens the check.
  package static var literals: String { allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ") }
}

extension CaseIterable where Self: RawRepresentable, RawValue == Int {
  /// Every raw value as an SQL number, separated by commas.
  package static var literals: String { allCases.map { "\($0.rawValue)" }.joined(separator: ", ") }
}
