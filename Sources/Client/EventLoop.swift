internal import Protobuf
internal import Reactor
internal import TLS

/// An epoll loop with connections, timers and work from other threads. Only the thread that runs the loop may use it.
public final class EventLoop {
  let driver: Driver
  private let commandQueue: CommandQueue<Driver.Command>

  /// Creates a loop. From then on the process ignores SIGPIPE, so that a closed connection does not end it.
  public init() throws {
    ignoreBrokenPipes()
    commandQueue = try CommandQueue()
    driver = try Driver(Reactor(commandQueue: commandQueue))
    driver.loop = self
  }

  /// Runs on the calling thread until `stop`.
  public func run() { driver.reactor.run(driver) }

  /// Ends `run` after the current turn.
  public func stop() { driver.reactor.stop() }

  /// Runs `body` in the next turn.
  func later(_ body: @escaping () -> Void) { driver.later(body) }

  /// Runs `body` once, after at least this many milliseconds.
  public func after(millis: Int64, _ body: @escaping () -> Void) { driver.after(millis: millis, body) }

  /// Begins a turn at this time of the monotonic clock, in nanoseconds. A new call replaces the earlier time.
  public func wake(atNanos nanos: Int64) { driver.alarm.set(atNanos: nanos) }

  /// Runs in each turn, after the loop has handled input and before it sends output.
  ///
  /// If it returns true, the next turn begins without sleeping. Use this if a millisecond of delay is too long.
  public var everyTurn: (() -> Bool)? {
    get { driver.everyTurn }
    set { driver.everyTurn = newValue }
  }

  /// A handle through which other threads submit work.
  public var remote: Remote { Remote(commandQueue: commandQueue) }

  public struct Remote: Sendable {
    fileprivate let commandQueue: CommandQueue<Driver.Command>

    /// Runs `work` on the loop's thread.
    public func post(_ work: @escaping @Sendable (EventLoop) -> Void) { commandQueue.post(work) }
  }
}

/// A ticket, which is valid only in the TLS context of its endpoint. Another endpoint can get the identity of one that
/// is gone.
private struct KeptTicket {
  weak var endpoint: Endpoint?
  let ticket: SessionTicket
}

/// The reactor driver of one loop: owns its connections and defines the order of work in a turn.
@safe final class Driver: ReactorDriver {
  typealias Command = @Sendable (EventLoop) -> Void

  /// The kind of the timers created by `after`. Connections have others.
  private static let delayTimer = UInt32.max
  private static let alarmTicket = Ticket(slot: .max - 1, generation: 0)

  let reactor: Reactor<Driver>
  weak var loop: EventLoop?
  let alarm: Alarm
  let readBuffer: UnsafeMutableRawBufferPointer
  /// The arena for decoding responses. `detailsArena` is for decoding error details.
  private(set) var arena = Arena(budgetBytes: 0)
  let detailsArena = Arena(budgetBytes: 65_536)
  var everyTurn: (() -> Bool)? {
    // Run it for the first time without waiting for another event.
    didSet { mustNotSleep = everyTurn != nil }
  }
  /// The newest session ticket for each endpoint.
  private var tickets: [ObjectIdentifier: KeptTicket] = [:]
  private var connections = SlotTable<Connection>()
  private var touched: [Connection] = []
  private var leftOver: [Connection] = []
  private var deferred: [() -> Void] = []
  private var delayed = SlotTable<() -> Void>()
  private var mustNotSleep = false
  private var isCompleting = false

  init(_ reactor: Reactor<Driver>) throws {
    self.reactor = reactor
    alarm = try Alarm()
    unsafe readBuffer = .allocate(byteCount: 16_384, alignment: 16)
    try reactor.watch(alarm.descriptor, Driver.alarmTicket, read: true, write: false)
  }

  deinit { unsafe readBuffer.deallocate() }

  // MARK: The turn

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    if ticket == Driver.alarmTicket { return alarm.clear() }
    connections[ticket]?.ready(readable: readable, writable: writable)
  }

  func timerFired(_ ticket: Ticket, kind: UInt32) {
    if kind == Driver.delayTimer {
      delayed.remove(ticket)?()
    } else {
      connections[ticket]?.timerFired(kind)
    }
  }

  func received(_ command: @Sendable (EventLoop) -> Void) {
    if let loop { command(loop) }
  }

  func decide() {
    let waiting = leftOver
    leftOver.removeAll(keepingCapacity: true)
    for connection in waiting { connection.readMore() }
    let due = deferred
    deferred = []
    for body in due { body() }
    mustNotSleep = everyTurn?() ?? false
  }

  func endTurn() {
    var index = 0
    // A completion can begin a call: its connection is appended and served in the same pass.
    while index < touched.count {
      touched[index].isTouched = false
      touched[index].flush()
      index += 1
    }
    touched.removeAll(keepingCapacity: true)
  }

  var hasLeftovers: Bool { mustNotSleep || !leftOver.isEmpty || !deferred.isEmpty || !touched.isEmpty }

  // MARK: For the loop and its connections

  func ticket(for endpoint: Endpoint) -> SessionTicket? {
    let kept = tickets[ObjectIdentifier(endpoint)]
    return kept?.endpoint === endpoint ? kept?.ticket : nil
  }

  func keep(_ ticket: SessionTicket, for endpoint: Endpoint) {
    tickets = tickets.filter { $0.value.endpoint != nil }
    tickets[ObjectIdentifier(endpoint)] = KeptTicket(endpoint: endpoint, ticket: ticket)
  }

  func after(millis: Int64, _ body: @escaping () -> Void) {
    reactor.startTimer(delayed.insert(body), kind: Driver.delayTimer, delayMillis: millis)
  }

  /// Runs `body` in the next turn, so that a completion does not run inside the call that caused it.
  func later(_ body: @escaping () -> Void) { deferred.append(body) }

  /// Runs a completion, but never inside another one, because all completions decode into the same arena.
  func complete(_ call: OpenCall, _ result: CallResult) {
    guard !isCompleting else { return later { [self] in complete(call, result) } }
    isCompleting = true
    call.completion(result)
    isCompleting = false
  }

  func touch(_ connection: Connection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  func leaveOver(_ connection: Connection) { leftOver.append(connection) }

  func adopt(_ connection: Connection) -> Ticket {
    let budgetBytes = 8 * connection.endpoint.settings.answerBytesMax
    if arena.budgetBytes < budgetBytes { arena = Arena(budgetBytes: budgetBytes) }
    return connections.insert(connection)
  }

  func release(_ ticket: Ticket) { connections.remove(ticket) }
}
