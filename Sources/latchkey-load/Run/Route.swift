internal import Client

/// One connection at a time.
final class Route {
  enum Kind {
    /// Opened before the run begins; when it goes or breaks, a new one takes its place.
    case lasting
    /// Opened by an iteration, and closed at its end.
    case momentary
  }

  /// Between two tries to reach a server that is not there.
  private static let retryMillis: Int64 = 100

  let kind: Kind
  private let target: Target
  private let loop: EventLoop
  private var connection: Connection?
  private var sender: CallSender?
  private var isClosing = false
  private var isOpen = false
  private var wasOpen = false
  private(set) var reconnections = 0
  var onOpen: () -> Void = {}
  /// The first connection could not be made.
  var onRefused: (_ why: String) -> Void = { _ in }

  init(_ kind: Kind, to target: Target, on loop: EventLoop) {
    self.kind = kind
    self.target = target
    self.loop = loop
  }

  /// An iteration can begin here.
  var isReady: Bool { isOpen || kind == .momentary }

  func open() {
    let connection = Connection(to: target.endpoint, on: loop)
    sender = CallSender(on: connection, target)
    self.connection = connection
    connection.onOpen = { [self] in
      isOpen = true
      if wasOpen { reconnections += 1 }
      wasOpen = true
      onOpen()
    }
    connection.onUnusable = { [self] why in replace(why) }
  }

  func send(_ call: Call, _ reply: Reply) {
    guard case .connect = call else {
      sender?.send(call, reply)
      return
    }
    isClosing = false
    wasOpen = false
    onOpen = { [unowned self] in reply.receive(.success(.connected(resumed: connection?.wasResumed ?? false))) }
    onRefused = { why in reply.receive(.failure(CallStatus(.unavailable, why))) }
    open()
  }

  func endIteration() {
    if kind == .momentary { close() }
  }

  func close() {
    isClosing = true
    isOpen = false
    connection?.close()
    connection = nil
  }

  /// Calls that the old connection has begun still end there.
  private func replace(_ why: String) {
    let broke = !isOpen
    isOpen = false
    guard !isClosing else { return }
    guard wasOpen else { return onRefused(why) }
    guard kind == .lasting else { return }
    loop.after(millis: broke ? Route.retryMillis : 0) { [self] in
      if !isClosing { open() }
    }
  }
}
