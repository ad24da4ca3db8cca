package struct Options: Sendable {
  /// Changes that share one transaction and one sync.
  package var groupMax = 256
  /// Changes of one turn of a reactor that go to the writer before the turn ends, so that it begins in good time.
  package var handOverMax = 64
  /// Changes (and, beside them, look-ups from threads without a connection) that may wait; more are refused.
  package var queueMax = 4096
  /// How long the writer waits for a lock. Nobody else writes, so only a foreign program can make it wait.
  package var writerBusyMillis: Int32 = 5000
  /// The same for readers: a reactor must not stand still.
  package var readerBusyMillis: Int32 = 100
  /// SQLite walks through all of the cache at a commit after which pages have changed places (it numbers one past 1 GiB
  /// for a moment), and what is not in it is read through the mapping: a large one costs more than it saves.
  package var writerCacheKiB = 4 * 1024
  /// A commit empties a reader's cache; between two it holds what all look-ups share, the inner pages of the indexes of
  /// ten million accounts.
  package var readerCacheKiB = 32 * 1024
  /// How much of the file is read through a memory mapping, shared by all connections.
  package var mappedBytes: Int64 = 2 << 30
  /// Pages in the WAL from which on the writer moves them into the file. A reader looks past every older copy of a page
  /// that the log holds, so a long log costs more than it saves.
  package var checkpointPages: Int32 = 1000
  /// How long the writer waits for readers to start a long log over. Callers wait meanwhile.
  package var restartBusyMillis: Int32 = 200
  /// How long it then leaves those alone that have not gone away.
  package var restartRestMillis: Int64 = 30_000
  /// The most that the cache of who signs in how may take: 32 bytes for each account that there is room for.
  package var waysInCacheBytesMax = 512 << 20
  /// How many accounts each reader keeps in memory, of those that signed in by an identity or refreshed lately: once
  /// for each of the two.
  package var accountsKept = 8192
  /// How many accounts' versions the writer keeps in memory.
  package var versionsKept = 16_384
  /// What the WAL is cut down to once it starts over after it grew longer, as it does while a copy is made.
  package var logBytesKept: Int64 = 64 << 20
  /// A copy is made in steps of so many pages, with a pause after each: whoever serves callers wants the disk too.
  package var copyPagesPerStep: Int32 = 256
  package var copyPauseMillis: UInt32 = 2
  package var copyCacheKiB = 2 * 1024
  /// How large the file may grow; nil: as large as the disk allows.
  package var pagesMax: Int64?

  package init() {}
}
