import Synchronization

/// Decides, once per change of a call, whether its commit or its cancellation came first.
///
/// A deadline or a client's cancellation wins only while the decision is open. Once a commit has taken it, the change
/// proceeds, and the response is sent if the client still waits. "Cancelled" must never be returned for a change that
/// was written.
package final class CommitDecision: Sendable {
  private static let open: UInt8 = 0
  private static let taken: UInt8 = 1
  private static let cancelled: UInt8 = 2
  /// Taken. Must become cancelled if the commit writes nothing.
  private static let takenButDue: UInt8 = 3
  private let state = Atomic<UInt8>(CommitDecision.open)

  package init() {}

  package var isCancelled: Bool { state.load(ordering: .acquiring) == CommitDecision.cancelled }

  /// Takes the decision for the commit. False: it was cancelled earlier, and the change must not be applied.
  package func take() -> Bool { exchange(from: CommitDecision.open, to: CommitDecision.taken) }

  /// Reopens the decision after a change that wrote nothing (conflict, stale). If a cancellation arrived while it was
  /// taken, the decision becomes cancelled.
  package func release() {
    if !exchange(from: CommitDecision.taken, to: CommitDecision.open) {
      _ = exchange(from: CommitDecision.takenButDue, to: CommitDecision.cancelled)
    }
  }

  /// Cancels the call if no commit has taken the decision. False: a commit has taken it; wait for its response. If that
  /// commit writes nothing, no other follows.
  package func cancel() -> Bool {
    while true {
      if exchange(from: CommitDecision.open, to: CommitDecision.cancelled) { return true }
      if exchange(from: CommitDecision.taken, to: CommitDecision.takenButDue) { return false }
      let now = state.load(ordering: .acquiring)
      if now == CommitDecision.takenButDue || now == CommitDecision.cancelled { return false }
    }
  }

  private func exchange(from: UInt8, to: UInt8) -> Bool {
    state.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
  }
}
