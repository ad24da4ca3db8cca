// Store: what the domain asks of storage.
//
// Owns: the records, the closed set of look-ups (`Query` -> `Facts`), the unit of work (`Change` -> `Outcome`), and the
// compare-and-swap between a commit and a cancellation (`Fate`), and what is told to who counts (`StoreObserver`).
// Does not own: any SQL, any thread, any rule of the product. A backend owns the first two, Identity the last.
// Read next: Query.swift, Change.swift; then Tests/StoreConformance, which states every promise made here.

/// Durable storage with two doors for reading and one for writing.
///
/// A load is a value. `now` answers on the spot where the backend can read without waiting (SQLite, from the calling
/// reactor's own snapshot); `load` always works. A handler tries `now` first and becomes a task only when it is nil, so
/// that no handler is written twice.
package protocol Store: Sendable {
  /// Gives the calling thread what it needs for `now`. Called once by each reactor thread before its first turn.
  func attachThread() throws

  /// Takes it back. Called by the same thread after its last turn.
  func detachThread()

  /// What the calling thread has to watch while it is attached: `turn` is to be called whenever it can be read. nil:
  /// the backend has nothing to wait for.
  var watchedDescriptor: Int32? { get }

  /// Takes what has arrived for the calling thread, and resumes who waits for it.
  func turn()

  /// Closes the calling thread's snapshot, so that the next `now` sees everything committed until then, and sends its
  /// changes on their way. Called by each reactor at the end of its turn, before any socket is read again: a caller who
  /// was told of a commit must see it.
  func endTurn()

  /// Facts from the calling thread's snapshot, opened at the first `now` of a turn; nil when the backend has to wait.
  func now(_ query: Query) throws -> Facts?

  /// Facts at least as new as the moment of the call, never those of an older snapshot of this turn: a use case that
  /// was resumed by a commit, a conflict or staleness decides again on these.
  func load(_ query: Query) async throws -> Facts

  /// Writes all of `change` or nothing, durably, and says which. Many callers share one transaction and one sync: on a
  /// thread that is attached, those of a turn leave together, at `endTurn` at the latest.
  ///
  /// `fate` is taken by compare-and-swap right before the change is carried out; a fate cancelled earlier leaves the
  /// store untouched and answers `.cancelled`. After `.committed` nothing can undo it.
  func commit(_ change: Change, fate: Fate) async throws -> Outcome

  /// Removes what has expired (pending rows, idempotency records, spent tokens, counts of attempts, buried messages
  /// that were kept long enough, the sessions that ended before today, UTC, and the audit rows written before
  /// `auditedBefore`), at most `rowsMax` rows of each kind so that callers are not held up; returns how many went. The
  /// newest audit row stays, so that no position is given twice.
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int

  /// Writes all that was committed before the call, as one snapshot, into the file at `path`, which is there and
  /// empty: a store of this kind can be opened on it. Callers are served and changes are written meanwhile. The copy
  /// was checked to be sound, and is not durable: to sync it, and to remove it after an error, is the caller's.
  /// `isWanted` is asked from time to time, on any thread; once it says no, `StoreCopyError.unwanted` is thrown. A
  /// backend may refuse all of it as unsupported.
  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy

  /// Ends the backend after the last commit returned. Later calls throw `StoreError.closed`.
  func close() async
}

extension Store {
  // Of a backend that has its answers at once, or from threads of its own.
  package var watchedDescriptor: Int32? { nil }
  package func turn() {}
}

/// Storage that cannot answer. The domain turns each of them into `STORE_UNAVAILABLE`.
package enum StoreError: Error, Equatable {
  /// The backend was closed.
  case closed
  /// The backend failed; the text is for the log, never for a client.
  case unavailable(String)
  /// It cannot be opened, and another attempt would be the same: somebody has to write or do something otherwise.
  case unusable(String)
  /// A stored row does not read back as what was written.
  case corrupt(String)
}
