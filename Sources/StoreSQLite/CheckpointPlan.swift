/// Which checkpoint is due after a group of changes, if any.
///
/// Readers may keep a PASSIVE checkpoint from starting the log over; where it has grown fourfold, the writer waits for
/// them a moment (their turns are short). For the snapshot of a copy it never waits, and after a reader that did not go
/// away meanwhile, a foreign program most likely, not again for a while: the log grows until that reader is gone.
struct CheckpointPlan {
  enum Kind: Hashable {
    case passive
    /// Waits for readers.
    case restart
  }

  private let pages: Int32
  private let restMillis: Int64
  private var restsUntilMillis: Int64 = .min

  init(_ options: Options) {
    pages = options.checkpointPages
    restMillis = options.restartRestMillis
  }

  func due(logPages: Int32, isLogHeld: Bool, nowMillis: Int64) -> Kind? {
    guard logPages >= pages else { return nil }
    return logPages >= 4 * pages && !isLogHeld && nowMillis >= restsUntilMillis ? .restart : .passive
  }

  /// A restart has waited in vain.
  mutating func metReader(nowMillis: Int64) { restsUntilMillis = nowMillis + restMillis }
}
