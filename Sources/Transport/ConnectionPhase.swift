/// The phase of a server connection. Each transition is pure: it returns what the connection must do.
enum ConnectionPhase: Hashable {
  /// TLS is not established. A newcomer has not been processed by its reactor yet.
  case handshaking(isNewcomer: Bool)
  /// Calls are accepted.
  case serving
  /// A GOAWAY is announced or sent. The calls in flight continue.
  case draining
  /// nghttp2 rejected the input. The connection is not read, and closes when its GOAWAY is sent.
  case closing
  case closed(CloseKind)

  enum CloseKind: Hashable {
    /// Without an error, and with all output sent: the client may still read it.
    case inOrder
    case abrupt
  }

  /// What follows when all output is sent.
  enum AfterOutput: Hashable {
    case `continue`
    /// Only calls that watch are left, which never end on their own.
    case endWatches
    case close(CloseKind)
  }

  /// The end of a session, as far as the phase depends on it.
  struct SessionEnd: Hashable {
    /// The session has nothing left to read or write.
    var isOver = false
    var hasFault = false
    /// The client sent a GOAWAY.
    var clientLeaves = false
    /// No reported stream waits for its turn, and the drain has reached its last GOAWAY.
    var mayDrain = false
  }

  var isHandshaking: Bool { if case .handshaking = self { true } else { false } }
  var isClosed: Bool { if case .closed = self { true } else { false } }

  /// The reactor has processed the connection. Returns whether it no longer counts as a newcomer.
  mutating func processed() -> Bool {
    guard self == .handshaking(isNewcomer: true) else { return false }
    self = .handshaking(isNewcomer: false)
    return true
  }

  mutating func established() {
    if isHandshaking { self = .serving }
  }

  mutating func drain() {
    if self == .serving { self = .draining }
  }

  mutating func rejectedInput() {
    if self == .serving || self == .draining { self = .closing }
  }

  /// Ends the connection. Returns whether this was the transition, since a connection may be closed repeatedly.
  mutating func close(_ kind: CloseKind) -> Bool {
    guard !isClosed else { return false }
    self = .closed(kind)
    return true
  }

  func sentOutput(_ session: SessionEnd, _ counts: ConnectionLoad) -> AfterOutput {
    switch self {
    case .handshaking, .closed: return .continue
    case .closing: return .close(.abrupt)
    // nghttp2 may end the session as well, after an error that no compliant client makes.
    case .serving:
      guard session.isOver else { return .continue }
      return .close(session.clientLeaves && !session.hasFault ? .inOrder : .abrupt)
    case .draining:
      let close = AfterOutput.close(session.hasFault ? .abrupt : .inOrder)
      if session.isOver { return close }
      guard session.mayDrain, counts.holdingCalls == 0 else { return .continue }
      return counts.calls == 0 ? close : .endWatches
    }
  }
}
