import Synchronization

/// Settles, once for each change of a call, whether its commit or its cancellation came first.
///
/// A deadline or a client's cancel wins only while the fate is open. Once a commit has taken it, the change goes
/// through and the answer is sent if anyone still listens: "cancelled" must never be told of something that was
/// written.
package final class Fate: Sendable {
  private static let open: UInt8 = 0
  private static let taken: UInt8 = 1
  private static let cancelled: UInt8 = 2
  /// Taken, and to be cancelled where nothing comes of that.
  private static let takenButDue: UInt8 = 3
  private let state = Atomic<UInt8>(Fate.open)

  package init() {}

  package var isCancelled: Bool { state.load(ordering: .acquiring) == Fate.cancelled }

  /// The commit's side. False: cancelled before, the change must not be carried out.
  package func take() -> Bool { exchange(from: Fate.open, to: Fate.taken) }

  /// After a change that wrote nothing (conflict, stale): the next decision can be cancelled again, and is where that
  /// was wanted meanwhile.
  package func release() {
    if !exchange(from: Fate.taken, to: Fate.open) { _ = exchange(from: Fate.takenButDue, to: Fate.cancelled) }
  }

  /// The deadline's side. False: a commit has taken it, wait for its answer. Where it writes nothing, it was the last.
  package func cancel() -> Bool {
    while true {
      if exchange(from: Fate.open, to: Fate.cancelled) { return true }
      if exchange(from: Fate.taken, to: Fate.takenButDue) { return false }
      let now = state.load(ordering: .acquiring)
      if now == Fate.takenButDue || now == Fate.cancelled { return false }
    }
  }

  private func exchange(from: UInt8, to: UInt8) -> Bool {
    state.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
  }
}
