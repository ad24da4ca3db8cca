/// Told what a backend does, for who counts it. Called on the backend's own threads, so it must not wait; nothing that
/// it is told names a person.
package protocol StoreObserver: Sendable {
  /// A transaction with so many changes is durable; `took` is from its beginning to the end of its sync.
  func committed(changes: Int, took: Duration)
  /// A transaction was lost; nobody was told anything but what each change comes to alone.
  func lostCommit()
  /// What one change came to.
  func settled(_ result: Result<Outcome, StoreError>)
  /// As much waits as may: a change or a look-up was refused unseen.
  func refusedByFullQueue()
  /// The database can no longer be reached, and why, for the log.
  func lostDatabase(_ why: String)
  /// It can be reached again.
  func foundDatabase()
  /// It answers, and makes no further connection, and why, for the log.
  func lacksConnections(_ why: String)
  /// Some of what is over could not be removed, and why, for the log; the rest was.
  func leftUnswept(_ what: String, _ why: String)
  /// Who watches audit rows is told of none from now on, and why, for the log.
  func heldUpEvents(_ why: String)
  /// Audit rows are told of again.
  func freedEvents()
  /// The pending rows that are held after a commit that changed their number, and once at the opening.
  func holds(pendingRows: Int)
  /// A pending row for this purpose was removed before its time, since its network filled the places of its caller.
  func removedPending(for purpose: PendingPurpose)
  /// The messages that wait to be sent, after a commit that changed their number, and once at the opening.
  func holds(waitingDeliveries: Int)
  /// A caller has used half of this limit.
  func reachedHalf(of limit: ThrottleKind)
  /// A committed change had a notice that was not queued, and why.
  func leftUnqueued(_ why: UnqueuedNotice)
}
