package struct Options: Sendable {
  /// The largest number of changes that share one transaction and one sync.
  package var groupMax = 256
  /// The number of changes in one reactor turn that go to the writer before the turn ends, so that it begins early.
  package var handOverMax = 64
  /// The largest number of waiting changes, and separately of waiting lookups from threads without a connection. The
  /// store rejects more.
  package var queueMax = 4096
  /// How long the writer waits for a lock. No other part of the store writes, so only a foreign program can make it
  /// wait.
  package var writerBusyMillis: Int32 = 5000
  /// How long a reader waits for a lock. Short, because a reactor must not block.
  package var readerBusyMillis: Int32 = 100
  /// The page cache of the writer. A large one costs more than it saves.
  ///
  /// SQLite scans the whole cache at a commit after which pages have moved (it temporarily numbers a page past 1 GiB).
  /// Pages outside the cache are read through the memory mapping.
  package var writerCacheKiB = 4 * 1024
  /// The page cache of a reader. A commit empties it. Between two commits it holds what all lookups share: the inner
  /// pages of the indexes of ten million accounts.
  package var readerCacheKiB = 32 * 1024
  /// The part of the file that is read through a memory mapping: always by the writer, and by a reader while nothing
  /// changes (`MappingPlan`).
  package var mappedBytes: Int64 = 2 << 30
  /// The number of WAL pages from which the writer checkpoints. A reader skips every older copy of a page in the WAL,
  /// so a long WAL costs more than it saves.
  package var checkpointPages: Int32 = 1000
  /// How long the writer waits for readers to restart a long WAL. Callers wait during that time.
  package var restartBusyMillis: Int32 = 200
  /// How long the writer waits before it tries again if readers did not finish.
  package var restartRestMillis: Int64 = 30_000
  /// The largest size of the sign-in methods cache. It takes 32 bytes for each account that it has room for.
  package var methodsCacheBytesMax = 512 << 20
  /// The number of accounts that each reader caches: those that recently signed in with an identity or refreshed a
  /// session. An account that did both counts twice.
  package var accountsKept = 8192
  /// The number of account versions that the writer caches.
  package var versionsKept = 16_384
  /// The size to which the WAL is truncated when it restarts after it grew longer, as it does during a copy.
  package var logBytesKept: Int64 = 64 << 20
  /// The pages that a copy takes per step. A pause follows each step, because serving callers needs the disk too.
  package var copyPagesPerStep: Int32 = 256
  package var copyPauseMillis: UInt32 = 2
  package var copyCacheKiB = 2 * 1024
  /// The number of failure rows from which a sweep removes the oldest.
  package var failuresMax = 1_000_000
  /// Whether opening the store migrates its schema. If not, a store that lacks a step is rejected.
  package var migrates = true
  /// A check of the file works and rests in turn, so that it takes a fifth of one processor.
  package var checkWorkMillis: Int64 = 10
  package var checkRestMillis: UInt32 = 40
  /// The largest size of the file. nil: limited by the disk only.
  package var pagesMax: Int64?

  /// Whether the store keeps the index of searches. nil: it leaves the file as it is.
  package var search: Bool?

  package init() {}
}
