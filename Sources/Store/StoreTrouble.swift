/// A condition in which the store cannot serve, other than a database that is unreachable. The raw values are labels of
/// metrics.
package enum StoreTrouble: String, Sendable, CaseIterable {
  /// The file, or a table or an index of the database, is damaged. Lasts until the store is opened again.
  case corrupt
  /// The disk is full.
  case full
  /// The disk returns errors.
  case unreadable
}

/// Result of a check of the whole store.
package enum StoreCheck: Hashable, Sendable {
  case sound
  /// The damage, one line each. It does not contain stored values.
  case corrupt([String])
  /// The check was stopped before its end.
  case unfinished
}
