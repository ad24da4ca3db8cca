/// How long a client leaves untaken what is there for it: an answer behind its windows, bytes behind its socket. A
/// value: it is told how much is left and what time it is.
package struct Untaken: Sendable {
  package struct Limits: Sendable {
    /// Without one byte taken.
    package var stillMillis: Int64
    /// From the first byte that waited until none does.
    package var wholeMillis: Int64

    package init(stillMillis: Int64, wholeMillis: Int64) {
      self.stillMillis = stillMillis
      self.wholeMillis = wholeMillis
    }
  }

  private var waits = false
  private var sinceMillis: Int64 = 0
  private var takenMillis: Int64 = 0
  private var takenBytes = 0

  package init() {}

  /// - Parameter leftBytes: what waits now.
  /// - Parameter takenBytes: all that was ever taken.
  package mutating func look(leftBytes: Int, takenBytes: Int, nowMillis: Int64) {
    if leftBytes > 0, !waits {
      (sinceMillis, takenMillis) = (nowMillis, nowMillis)
    } else if takenBytes > self.takenBytes {
      takenMillis = nowMillis
    }
    waits = leftBytes > 0
    self.takenBytes = takenBytes
  }

  /// When its time is over, unless something is taken meanwhile; nil: nothing waits.
  package func dueMillis(_ limits: Limits) -> Int64? {
    waits ? min(takenMillis + limits.stillMillis, sinceMillis + limits.wholeMillis) : nil
  }
}
