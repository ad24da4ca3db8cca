internal import Services
internal import Synchronization

/// Turns what the store tells of itself into the health that callers are told: a database that is gone for a moment is
/// waited for, one that stays away takes this server out of service until it is back.
final class StoreHealth: Sendable {
  private struct State {
    var isGone = false
    /// Counts its comings and goings, so that an older wait is recognised.
    var turns = 0
    var tell: (@Sendable () -> Void)?
  }

  private let health: HealthState
  private let graceMillis: Int64
  private let state = Mutex(State())

  init(_ health: HealthState, graceMillis: Int64) {
    self.health = health
    self.graceMillis = graceMillis
  }

  /// - Parameter changed: wakes those who watch the health.
  func tell(_ changed: @escaping @Sendable () -> Void) { state.withLock { $0.tell = changed } }

  func reachable(_ isReachable: Bool) {
    let turn = state.withLock { state in
      state.isGone = !isReachable
      state.turns += 1
      return state.turns
    }
    if isReachable { return set(isGone: false) }
    Task.detached { [self] in
      try? await Task.sleep(nanoseconds: UInt64(graceMillis) * 1_000_000)
      if state.withLock({ $0.isGone && $0.turns == turn }) { set(isGone: true) }
    }
  }

  private func set(isGone: Bool) {
    health.storeIsGone(isGone)
    state.withLock { $0.tell }?()
  }
}
