/// How long a client leaves data unread: a response behind its windows, or bytes behind its socket. It has no clock:
/// the caller passes the number of waiting bytes and the time.
package struct Untaken: Sendable {
  package struct Limits: Sendable {
    /// Maximum time without any progress.
    package var stillMillis: Int64
    /// Maximum time from the first waiting byte until no byte waits.
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

  /// Records the state of the data at a given time.
  /// - Parameters:
  ///   - leftBytes: Number of bytes that wait now.
  ///   - takenBytes: Total number of bytes that the client has ever read.
  package mutating func look(leftBytes: Int, takenBytes: Int, nowMillis: Int64) {
    if leftBytes > 0, !waits {
      (sinceMillis, takenMillis) = (nowMillis, nowMillis)
    } else if takenBytes > self.takenBytes {
      takenMillis = nowMillis
    }
    waits = leftBytes > 0
    self.takenBytes = takenBytes
  }

  /// Returns the deadline of the client. Progress can postpone it. Returns nil if nothing waits.
  package func dueMillis(_ limits: Limits) -> Int64? {
    waits ? min(takenMillis + limits.stillMillis, sinceMillis + limits.wholeMillis) : nil
  }
}
