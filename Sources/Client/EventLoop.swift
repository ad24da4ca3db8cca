internal import Reactor
internal import TLS
internal import API

/// A thread's epoll loop: connections, timers and work from other threads. Not for sharing: it lives on the thread that
/// runs it.
public final class EventLoop {
  let driver: Driver
  private let mailbox: Mailbox<Driver.Letter>

  /// From here on the process ignores SIGPIPE: a server that went away must not end it.
  public init() throws {
    ignoreBrokenPipes()
    mailbox = try Mailbox()
    driver = try Driver(Reactor(mailbox: mailbox))
    driver.loop = self
  }

  /// Runs on the calling thread until `stop`.
  public func run() { driver.reactor.run(driver) }

  /// Ends `run` after the current turn.
  public func stop() { driver.reactor.stop() }

  /// Runs `body` once what runs now has ended.
  func later(_ body: @escaping () -> Void) { driver.later(body) }

  /// Runs `body` once, in so many milliseconds at the earliest.
  public func after(millis: Int64, _ body: @escaping () -> Void) { driver.after(millis: millis, body) }

  /// Begins a turn at this moment of the monotonic clock, nanoseconds; the moment named last is the one that counts.
  public func wake(atNanos nanos: Int64) { driver.alarm.set(atNanos: nanos) }

  /// Runs in each turn, after what has come was looked at and before anything is sent. True: the next turn is not to
  /// sleep, for those who cannot wait for a millisecond.
  public var everyTurn: (() -> Bool)? {
    get { driver.everyTurn }
    set { driver.everyTurn = newValue }
  }

  /// How other threads reach this loop.
  public var remote: Remote { Remote(mailbox: mailbox) }

  public struct Remote: Sendable {
    fileprivate let mailbox: Mailbox<Driver.Letter>

    /// Runs `work` on the loop's thread.
    public func post(_ work: @escaping @Sendable (EventLoop) -> Void) { mailbox.post(work) }
  }
}

/// The driver of one loop's reactor: its connections, and the order of a turn.
@safe final class Driver: ReactorDriver {
  typealias Letter = @Sendable (EventLoop) -> Void

  private struct Slot {
    var generation: UInt32 = 0
    var connection: Connection?
  }

  /// The slot of no connection: its generation is the number of a timer of `after`.
  private static let timerSlot = UInt32.max - 1
  private static let alarmTicket = Ticket(slot: UInt32.max - 2, generation: 0)

  let reactor: Reactor<Driver>
  weak var loop: EventLoop?
  let alarm: Alarm
  let readBuffer: UnsafeMutableRawBufferPointer
  /// For answers while a completion looks at them, and for the details of refusals.
  private(set) var arena = Arena(budgetBytes: 0)
  let detailsArena = Arena(budgetBytes: 65_536)
  var everyTurn: (() -> Bool)? {
    // The first time is not to wait for something else to happen.
    didSet { mustNotSleep = everyTurn != nil }
  }
  /// Of the last connection to an endpoint that was given one.
  var tickets: [ObjectIdentifier: SessionTicket] = [:]
  private var slots: [Slot] = []
  private var freeSlots: [Int] = []
  private var touched: [Connection] = []
  private var leftOver: [Connection] = []
  private var deferred: [() -> Void] = []
  private var timers: [UInt32: () -> Void] = [:]
  private var lastTimer: UInt32 = 0
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
    connection(ticket)?.ready(readable: readable, writable: writable)
  }

  func timerFired(_ ticket: Ticket, kind: UInt32) {
    if ticket.slot == Driver.timerSlot {
      timers.removeValue(forKey: ticket.generation)?()
    } else {
      connection(ticket)?.timerFired(kind)
    }
  }

  func received(_ letter: @Sendable (EventLoop) -> Void) {
    if let loop { letter(loop) }
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

  func after(millis: Int64, _ body: @escaping () -> Void) {
    lastTimer &+= 1
    timers[lastTimer] = body
    reactor.startTimer(Ticket(slot: Driver.timerSlot, generation: lastTimer), kind: 0, delayMillis: millis)
  }

  /// In the next turn: for completions whose cause is the very call that they would return into.
  func later(_ body: @escaping () -> Void) { deferred.append(body) }

  /// Never one completion within another: an answer is looked at in memory that the next one takes.
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

  /// The generation is new with each tenant, so that a late event finds nobody.
  func adopt(_ connection: Connection) -> Ticket {
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    slots[slot].connection = connection
    let budgetBytes = 8 * connection.endpoint.settings.answerBytesMax
    if arena.budgetBytes < budgetBytes { arena = Arena(budgetBytes: budgetBytes) }
    return Ticket(slot: UInt32(slot), generation: slots[slot].generation)
  }

  func release(_ ticket: Ticket) {
    let slot = Int(ticket.slot)
    slots[slot].connection = nil
    slots[slot].generation &+= 1
    freeSlots.append(slot)
  }

  private func connection(_ ticket: Ticket) -> Connection? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation else { return nil }
    return slots[slot].connection
  }
}
