package import HTTP2

/// Limits that a client can reach, named as in logs and metrics. A limit that ends a connection for exceeding a budget
/// is also the debug data of its GOAWAY.
package enum LimitKind: String, Sendable, CaseIterable {
  // The server rejects the connection.
  case connections
  case connectionsPerAddress = "connections_per_address"
  case offencesPerAddress = "offences_per_address"
  case descriptors

  // The connection ends.
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

  // The call ends.
  case streams
  case headerList = "header_list"
  case messageBytes = "message_bytes"
  case requestTime = "request_time"
  case heldRequestBytes = "held_request_bytes"
  case streamingCalls = "streaming_calls"
  case untakenAnswer = "untaken_answer"
  case unsentBytes = "unsent_bytes"

  // The connection waits.
  case unreadFrames = "unread_frames"

  // All new connections wait for ten milliseconds.
  case newcomers
}

extension Fault {
  /// Whether no compliant client causes this fault, regardless of the network, its settings or a slow server. Repeated
  /// offences block the client's address for a time. Other faults have legitimate causes: a client that gives up resets
  /// its calls, and a distant client reads responses slowly.
  package var isOffence: Bool {
    switch LimitKind(rawValue: debugData) {
    case .tooManyStreamErrors, .tooManyPrematureStreams, .tooManySettings, .tooManyPriorities, .tooManyEmptyFrames,
      .tooManyControlFrames, .tooManyContinuations, .tooManyLargeHeaderLists, .headerListBomb, .tooManyKeyUpdates:
      true
    default: false
    }
  }

  /// The client did not complete a frame, a header block or the connection preface.
  package static let slowFrame = Fault(code: .enhanceYourCalm, debugData: LimitKind.slowFrame.rawValue)
  /// The client requested too many TLS key updates. The fault is never sent, since TLS does not decrypt a frame before
  /// the update.
  package static let tooManyKeyUpdates = Fault(code: .enhanceYourCalm, debugData: LimitKind.tooManyKeyUpdates.rawValue)
}
