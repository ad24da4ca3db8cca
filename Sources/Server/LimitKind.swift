internal import HTTP2

/// Each limit that a client can meet, by the name that logs and metrics have for it. Those that end a connection over a
/// budget are also the debug data of its GOAWAY.
enum LimitKind: String, Sendable, CaseIterable {
  // Before there is a connection.
  case connections
  case connectionsPerAddress = "connections_per_address"
  case offencesPerAddress = "offences_per_address"
  case descriptors

  // A connection ends.
  case handshake
  case tooManyResets = "too_many_resets"
  case tooManyStreamErrors = "too_many_stream_errors"
  case tooManyPrematureStreams = "too_many_premature_streams"
  case tooManySettings = "too_many_settings"
  case tooManyPriorities = "too_many_priorities"
  case tooManyEmptyFrames = "too_many_empty_frames"
  case tooManyControlFrames = "too_many_control_frames"
  case tooManyContinuations = "too_many_continuations"
  case tooManyLargeHeaderLists = "too_many_large_header_lists"
  case headerListBomb = "header_list_bomb"
  case tooManyUntakenAnswers = "too_many_untaken_answers"
  case tooManyPings = "too_many_pings"
  case tooManyKeyUpdates = "too_many_key_updates"
  case slowFrame = "slow_frame"
  case slowSocket = "slow_socket"

  // A call ends.
  case streams
  case headerList = "header_list"
  case messageBytes = "message_bytes"
  case requestTime = "request_time"
  case heldRequestBytes = "held_request_bytes"
  case streamingCalls = "streaming_calls"
  case untakenAnswer = "untaken_answer"
  case unsentBytes = "unsent_bytes"

  // A connection waits.
  case unreadFrames = "unread_frames"

  // All who would come in wait, for ten milliseconds.
  case newcomers
}

extension Fault {
  /// No honest client does it, whatever the network, its settings or our own slowness make of it: whoever does is not
  /// to come back at once. A client that gives up on us resets its calls, one that is far away takes answers slowly.
  var isOffence: Bool {
    switch LimitKind(rawValue: debugData) {
    case .tooManyStreamErrors, .tooManyPrematureStreams, .tooManySettings, .tooManyPriorities, .tooManyEmptyFrames,
      .tooManyControlFrames, .tooManyContinuations, .tooManyLargeHeaderLists, .headerListBomb, .tooManyKeyUpdates:
      true
    default: false
    }
  }

  /// A frame, a header block or a greeting was begun and not ended.
  static let slowFrame = Fault(code: .enhanceYourCalm, debugData: LimitKind.slowFrame.rawValue)
  /// Told to nobody: there is no frame before the keys.
  static let tooManyKeyUpdates = Fault(code: .enhanceYourCalm, debugData: LimitKind.tooManyKeyUpdates.rawValue)
}
