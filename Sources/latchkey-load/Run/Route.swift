internal import Client

/// A path to the server that has one connection at a time.
final class Route {
  enum Kind {
    /// Connects before the run, and reconnects after the connection has closed or failed.
    case lasting
    /// Connects for one iteration and closes the connection at its end.
    case momentary
  }

  /// The delay between attempts to reconnect.
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
  /// Called if the first attempt to connect fails.
  var onRefused: (_ why: String) -> Void = { _ in }

  init(_ kind: Kind, to target: Target, on loop: EventLoop) {
    self.kind = kind
    self.target = target
    self.loop = loop
  }

  /// Whether an iteration can begin.
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

  /// Replaces the connection. Calls in progress finish on the old one.
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
