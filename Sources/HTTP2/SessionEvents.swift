/// What happened on a connection since the owner's last inspection. The owner resets what it has handled.
package struct SessionEvents {
  /// Number of PINGs from the peer.
  package var pingsReceived = 0
  /// Whether the peer answered the PING after the first GOAWAY.
  package var noticeAnswered = false
  /// Whether a HEADERS or DATA frame was sent. It resets the ping strikes (gRFC A8).
  package var sentReply = false
  /// Number of streams refused because of the stream limit.
  var refusedStreams = 0
  /// Number of streams reset because their responses were left unread.
  var untakenResets = 0

  package var hasPing: Bool { pingsReceived > 0 || noticeAnswered }

  package mutating func takeRefusedStreams() -> Int {
    defer { refusedStreams = 0 }
    return refusedStreams
  }

  package mutating func takeUntakenResets() -> Int {
    defer { untakenResets = 0 }
    return untakenResets
  }
}

/// Output of a connection that its frames do not show: bytes behind the client's windows, and what must follow.
struct OutputAccount {
  /// Number of response bytes that wait for the client's windows.
  private(set) var unsentBytes = 0
  /// Whether nghttp2 had no memory for a required frame. The peer would wait for that frame forever, so the connection
  /// must close.
  private(set) var lacksMemory = false
  /// Whether a GOAWAY with an error code was sent. No second one follows.
  private(set) var sentFault = false
  /// IDs of streams with a complete response whose client is still sending.
  var answeredEarly: [Int32] = []

  /// Counts submitted bytes, which wait until the client's windows allow them.
  mutating func queued(_ bytes: Int) { unsentBytes += bytes }

  /// Counts bytes that no longer wait.
  mutating func took(_ bytes: Int) { unsentBytes -= bytes }

  mutating func hadNoMemory() { lacksMemory = true }

  mutating func didSendFault() { sentFault = true }
}

/// The abuse counters of a connection with what they depend on, and the fault that they led to.
struct AbuseGuard {
  /// Whether a caller has been identified on this connection. It may then cancel a share of any number of calls.
  var callerIsIdentified = false
  /// Whether the client knows the limits that the server announced.
  private var settingsAcknowledged = false
  private var budget = Budget()
  /// The fault that must end the connection: the first exceeded limit or violation of the protocol.
  private(set) var fault: Fault?

  mutating func acknowledgedSettings() { settingsAcknowledged = true }

  mutating func spend(_ kind: Budget.Kind, of limits: Budget.Limits, nowMillis: Int64) {
    if fault == nil, !budget.spend(kind, of: limits, nowMillis: nowMillis, isIdentified: callerIsIdentified) {
      fault = Fault(code: .enhanceYourCalm, debugData: kind.rawValue)
    }
  }

  /// Records a violation of the protocol. The first fault stays.
  mutating func violated(_ violation: Fault?) { fault = fault ?? violation }

  /// The kind of abuse that a stream above the limit is. A client that has not seen the server's SETTINGS does not know
  /// the limit.
  var kindOfRefusedStream: Budget.Kind { settingsAcknowledged ? .provokedReset : .prematureStream }

  mutating func beganCall(of limits: Budget.Limits, nowMillis: Int64) {
    budget.earnControlFrames(limits.controlFramesPerCall)
    budget.beganCall(of: limits, nowMillis: nowMillis)
  }

  mutating func sentData(of limits: Budget.Limits) { budget.earnControlFrames(limits.controlFramesPerDataFrame) }
}
