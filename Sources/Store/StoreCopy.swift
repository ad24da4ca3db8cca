/// What is in a copy of the store.
package struct StoreCopy: Hashable, Sendable {
  package var accountCount: Int
  /// The position of the newest audit row; 0: there is none.
  package var lastEvent: Int64

  package init(accountCount: Int, lastEvent: Int64) {
    self.accountCount = accountCount
    self.lastEvent = lastEvent
  }
}

/// Why there is no copy, beside `StoreError`.
package enum StoreCopyError: Error, Hashable, Sendable {
  /// This kind of store makes none; the text tells people what does.
  case unsupported(String)
  /// Whoever asked for it does not want it any more.
  case unwanted
  /// There is no room for it where it was to be written.
  case full
  /// The text is for the log, never for a client.
  case failed(String)
}
