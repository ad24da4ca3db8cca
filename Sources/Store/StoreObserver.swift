/// Receives a backend's events for metrics and logs.
///
/// A backend calls it on its own threads, so it must not block. No argument identifies a user.
package protocol StoreObserver: Sendable {
  /// A transaction with `changes` changes is durable. `took` is the time from its beginning to the end of its sync.
  func committed(changes: Int, took: Duration)
  /// A transaction was lost. No caller has received a result: each change is retried or settled on its own.
  func lostCommit()
  /// One change has ended with this result.
  func settled(_ result: Result<Outcome, StoreError>)
  /// The queue is full: a change or a lookup was rejected without being examined.
  func refusedByFullQueue()
  /// The database became unreachable. `why` is for the log.
  func lostDatabase(_ why: String)
  /// The database is reachable again.
  func foundDatabase()
  /// The store failed in a way that affects further calls. Reported with each failed call. `why` is for the log.
  func met(_ trouble: StoreTrouble, _ why: String)
  /// The database answers but accepts no further connections. `why` is for the log.
  func lacksConnections(_ why: String)
  /// A sweep could not remove the expired rows of one kind. `why` is for the log. The other kinds were swept.
  func leftUnswept(_ what: String, _ why: String)
  /// Watchers receive no audit rows from now on. `why` is for the log.
  func heldUpEvents(_ why: String)
  /// Watchers receive audit rows again.
  func freedEvents()
  /// The number of pending rows, reported at the opening and after each commit that changed it.
  func holds(pendingRows: Int)
  /// A pending row for this purpose was removed early because its network filled the caller's quota.
  func removedPending(for purpose: PendingPurpose)
  /// The number of waiting messages, reported at the opening and after each commit that changed it.
  func holds(waitingDeliveries: Int)
  /// A caller has used half of this limit.
  func reachedHalf(of limit: ThrottleKind)
  /// A committed change had a notice that was not queued, for this reason.
  func leftUnqueued(_ why: UnqueuedNotice)
}
