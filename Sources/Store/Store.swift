// Store: the storage contract between the domain and its backends.
//
// Owns: the records and their columns, the closed set of lookups (`Query` -> `Facts`), the unit of work (`Change` ->
// `Outcome`), the compare-and-swap between a commit and a cancellation (`CommitDecision`), and the notifications for
// metrics and logs (`StoreObserver`).
// Does not own: statements, threads, product rules. A backend owns the first two, Identity the last.
// Read next: Query.swift, Write.swift, RecordColumns.swift; then Tests/StoreConformance, which tests every promise made
// here.

/// Durable storage with two lookups and one write method.
///
/// A load is a value. `now` returns immediately if the backend can read without waiting (SQLite, from the calling
/// reactor's own snapshot). `load` always works. A handler tries `now` first and becomes a task only if the result is
/// nil, so no handler is written twice.
package protocol Store: Sendable {
  /// Prepares the calling thread for `now`. Each reactor thread calls it once before its first turn.
  func attachThread() throws

  /// Releases what `attachThread` prepared. The same thread calls it after its last turn.
  func detachThread()

  /// The descriptor that an attached thread watches. The thread calls `turn` whenever the descriptor is readable. nil:
  /// the backend has nothing to wait for.
  var watchedDescriptor: Int32? { get }

  /// Processes what has arrived for the calling thread and resumes the tasks that wait for it.
  func turn()

  /// Closes the calling thread's snapshot and sends its queued changes.
  ///
  /// Each reactor calls it at the end of its turn, before it reads any socket again. The next `now` then sees
  /// everything committed until that time: a caller must see every commit that it was notified of.
  func endTurn()

  /// Returns facts from the calling thread's snapshot, or nil if the backend must wait. The first `now` of a turn opens
  /// the snapshot.
  func now(_ query: Query) throws -> Facts?

  /// Returns the sign-in methods that the calling thread's snapshot shows, or nil if the backend must wait. The inner
  /// optional is nil if the email address has no account.
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord??

  /// Returns sign-in methods at least as new as the call. nil: the email address has no account.
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord?

  /// Returns facts at least as new as the call, never those of an older snapshot of this turn. A use case that resumes
  /// after a commit, a conflict or staleness decides again on these facts.
  func load(_ query: Query) async throws -> Facts

  /// Finds accounts by a part of their texts, with facts at least as new as the call.
  func search(_ query: SearchQuery) async throws -> SearchResult

  /// Continues to build the index of `search`, if it is wanted and incomplete. Returns the number of accounts that it
  /// added, at most `accountsMax`; fewer: nothing is left to do.
  func buildSearchIndex(accountsMax: Int) async throws -> Int

  /// Writes all of `change` or nothing, durably, and returns the outcome.
  ///
  /// Many callers share one transaction and one sync. On an attached thread, the changes of a turn leave together, at
  /// the latest in `endTurn`.
  ///
  /// The store takes `commitDecision` by compare-and-swap immediately before it applies the change. A decision
  /// cancelled earlier leaves the store untouched and returns `.cancelled`. Nothing can undo a change after
  /// `.committed`.
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome

  /// Removes expired data, at most `rowsMax` rows of each kind so that callers are not delayed.
  ///
  /// Expired data are pending rows, idempotency records, spent tokens and attempt counts; also given-up messages,
  /// records of sent messages and failures past their retention. Sessions that ended before today (UTC) and audit rows
  /// written before `auditedBefore` expire too. The newest audit row stays, so that no position is assigned twice. Of
  /// more failures than a limit of the backend, the oldest are removed. Given-up messages that have expired lose their
  /// content.
  ///
  /// - Returns: the number of removed rows.
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int

  /// Writes and reads a little, durably. Throws while the store cannot do both.
  func probe() async throws

  /// Writes one snapshot of everything committed before the call into the existing, empty file at `path`.
  ///
  /// A store of this kind can be opened on the copy. Callers are served and changes are written during the copy. The
  /// backend checks the integrity of the copy but does not sync it. The caller syncs the copy, and removes it after an
  /// error. A backend may reject all copies as unsupported.
  ///
  /// - Parameter isWanted: called from time to time, on any thread. Once it returns false, `StoreCopyError.unwanted` is
  ///   thrown.
  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy

  /// Ends the backend after the last commit has returned. Later calls throw `StoreError.closed`.
  func close() async
}

extension Store {
  // Defaults for a backend that answers immediately or from its own threads.
  package var watchedDescriptor: Int32? { nil }
  package func turn() {}

  // Defaults for a backend without an index of searches.
  package func search(_ query: SearchQuery) async throws -> SearchResult { .disabled }
  package func buildSearchIndex(accountsMax: Int) async throws -> Int { 0 }
}

/// A storage failure. The domain maps each case to `STORE_UNAVAILABLE`.
package enum StoreError: Error, Equatable {
  /// The backend was closed.
  case closed
  /// The backend failed. The text is for the log, never for a client.
  case unavailable(String)
  /// The store cannot be opened, and a retry would fail the same way. The operator must fix the cause.
  case unusable(String)
  /// A stored row cannot be read back as it was written.
  case corrupt(String)
}
