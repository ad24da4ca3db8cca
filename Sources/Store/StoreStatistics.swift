/// Sizes and counts of a store, for metrics. They are read in the background, because they may take seconds.
package struct StoreStatistics: Hashable, Sendable {
  /// nil: not counted.
  package var accounts: Int?
  /// Throttle keys that are blocked now. The count ends at `throttleBlocksMax`.
  package var throttleBlocks: Int
  package var databaseBytes: Int
  /// Size of the write-ahead log; nil: the database keeps it elsewhere.
  package var logBytes: Int?

  package static let throttleBlocksMax = 100_000

  package init(accounts: Int?, throttleBlocks: Int, databaseBytes: Int, logBytes: Int?) {
    self.accounts = accounts
    self.throttleBlocks = throttleBlocks
    self.databaseBytes = databaseBytes
    self.logBytes = logBytes
  }
}
