/// The content of a copy of the store.
package struct StoreCopy: Hashable, Sendable {
  package var accountCount: Int
  /// The position of the newest audit row. 0: there is none.
  package var lastEvent: Int64

  package init(accountCount: Int, lastEvent: Int64) {
    self.accountCount = accountCount
    self.lastEvent = lastEvent
  }
}

/// The reasons why a copy failed, in addition to `StoreError`.
package enum StoreCopyError: Error, Hashable, Sendable {
  /// This kind of store does not support copies. The text names an alternative for the operator.
  case unsupported(String)
  /// The requester cancelled the copy.
  case unwanted
  /// The target has no space left.
  case full
  /// The text is for the log, never for a client.
  case failed(String)
}
