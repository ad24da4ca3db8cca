/// Decides which checkpoint, if any, is due after a group of changes.
///
/// Readers may keep a PASSIVE checkpoint from restarting the WAL. When the WAL has grown fourfold, the writer waits
/// briefly for them, because their turns are short. It never waits for the snapshot of a copy. If a reader does not
/// finish in time (most likely a foreign program), the writer pauses its attempts. The WAL then grows until that reader
/// is gone.
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

  /// Notes that a restart timed out because of a reader.
  mutating func metReader(nowMillis: Int64) { restsUntilMillis = nowMillis + restMillis }
}
