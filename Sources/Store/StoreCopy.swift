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

extension Store {
  /// Of a store that is none of the backends: of those one makes copies, and the other names the tools that do.
  package func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    throw StoreCopyError.unsupported("This kind of store is backed up by its own tools.")
  }
}
