internal import API
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
  /// Request headers by the number of the RPC, encoded at the first call.
  private var heads = [CallHead?](repeating: nil, count: RPCPaths.all.count)
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
    self.connection = connection
    connection.onOpen = { [self] in
      isOpen = true
      if wasOpen { reconnections += 1 }
      wasOpen = true
      onOpen()
    }
    connection.onUnusable = { [self] why in replace(why) }
  }

  /// Opens a new connection. `completion` receives whether the handshake resumed an earlier TLS session.
  func connect(_ completion: @escaping (Result<Bool, CallStatus>) -> Void) {
    isClosing = false
    wasOpen = false
    onOpen = { [unowned self] in completion(.success(connection?.wasResumed ?? false)) }
    onRefused = { why in completion(.failure(CallStatus(.unavailable, why))) }
    open()
  }

  /// Begins a unary call.
  func begin<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request,
    _ completion: @escaping (Result<Response, CallStatus>) -> Void
  ) {
    _ = connection?.begin(head(rpc), request, completion)
  }

  /// Begins a call with a response stream. Cancels it when `take` has returned true, and waits for its end.
  func begin<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, cancelIf take: @escaping (Response) -> Bool,
    _ completion: @escaping (CallStatus) -> Void
  ) {
    var call: CallID?
    let onMessage = { [connection] (message: Response) in
      if take(message), let call { connection?.cancel(call) }
    }
    call = connection?.begin(head(rpc), request, onMessage: onMessage, completion)
  }

  private func head<Request, Response>(_ rpc: RPC<Request, Response>) -> CallHead {
    if let head = heads[rpc.number] { return head }
    let isForAdmin = rpc.path.contains(/\.(Admin|Event)Service\//)
    do {
      let head = try CallHead(path: rpc.path, target.endpoint, isForAdmin ? target.adminOptions : target.options)
      heads[rpc.number] = head
      return head
    } catch {
      preconditionFailure("API keys are validated when they are read: \(error)")
    }
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
