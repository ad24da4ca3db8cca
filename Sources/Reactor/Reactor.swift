// Reactor: event loops, threads and operating-system calls.
//
// Owns: the epoll loop and its turns, tickets and the table of their elements, timers, the command queue and task
// executor for other threads, threads and their bounded queues of work, counters with a single writer, plain sockets,
// private files, the clock.
// Does not own: TLS on a socket (TLS), fairness among connections (Transport).
// Read next: SlotTable.swift, CommandQueue.swift, then Transport/Connection.swift, which does the work of a turn.
// Poll.swift is for components that run inside another loop, as HTTPClient and StorePostgres do.

internal import CLinux

/// The handler of a reactor's events.
///
/// The reactor makes all calls on its own thread. Order within a turn:
/// - `ready` for every socket
/// - `timerFired`
/// - `received` for commands
/// - `decide`
/// - the jobs of resumed tasks
/// - `received` for the results of those jobs
/// - `endTurn`
///
/// No socket is read between `decide` and `endTurn`, so that one snapshot serves all decisions.
package protocol ReactorDriver: AnyObject {
  associatedtype Command: Sendable
  func ready(_ ticket: Ticket, readable: Bool, writable: Bool)
  func timerFired(_ ticket: Ticket, kind: UInt32)
  func received(_ command: Command)
  func decide()
  func endTurn()
  /// Whether the fairness limits of this turn left work. The next turn must then not sleep.
  var hasLeftovers: Bool { get }
}

/// One epoll loop. It belongs to one thread and is never shared. Other threads use its `CommandQueue`.
package final class Reactor<Driver: ReactorDriver> {
  /// The ticket of the command queue's descriptor.
  private static var wakeTicket: Ticket { Ticket(slot: .max, generation: .max) }

  private let epoll: Epoll
  private let commandQueue: CommandQueue<Driver.Command>
  private var timers = Timers()
  private var stopped = false
  /// Monotonic time, read once per turn when the reactor wakes.
  package private(set) var nowNanos: Int64
  package private(set) var nowMillis: Int64

  package init(commandQueue: CommandQueue<Driver.Command>) throws {
    epoll = try Epoll(eventsMax: 256)
    self.commandQueue = commandQueue
    nowNanos = lk_monotonic_nanos()
    nowMillis = nowNanos / 1_000_000
    try epoll.add(commandQueue.wakeDescriptor, Reactor.wakeTicket, read: true, write: false)
  }

  /// Starts to watch a descriptor, level-triggered.
  package func watch(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try epoll.add(descriptor, ticket, read: read, write: write)
  }

  package func change(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try epoll.change(descriptor, ticket, read: read, write: write)
  }

  package func unwatch(_ descriptor: Int32) throws { try epoll.remove(descriptor) }

  /// Starts a timer that fires once, after at least `delayMillis`. Timers cannot be cancelled: the receiver checks
  /// whether the timer still applies.
  package func startTimer(_ ticket: Ticket, kind: UInt32, delayMillis: Int64) {
    timers.add(Timers.Entry(atMillis: nowMillis + max(0, delayMillis), ticket: ticket, kind: kind))
  }

  /// Ends `run` after the current turn.
  package func stop() { stopped = true }

  package func run(_ driver: Driver) {
    commandQueue.adoptCurrentThread()
    while !stopped { turn(driver) }
  }

  private func turn(_ driver: Driver) {
    let isIdle = commandQueue.prepareToSleep() && !driver.hasLeftovers
    let count = epoll.wait(timeoutMillis: isIdle ? timers.sleepMillis(from: lk_monotonic_millis()) : 0)
    nowNanos = lk_monotonic_nanos()
    nowMillis = nowNanos / 1_000_000
    for index in 0..<count {
      let event = epoll[index]
      if event.ticket == Reactor.wakeTicket {
        commandQueue.clearWake()
        continue
      }
      // The read or write that follows reports an error or hang-up.
      driver.ready(event.ticket, readable: event.isReadable || event.isBroken, writable: event.isWritable)
    }
    while let fired = timers.popDue(at: nowMillis) { driver.timerFired(fired.ticket, kind: fired.kind) }
    let (commands, jobs) = commandQueue.take()
    for command in commands { driver.received(command) }
    driver.decide()
    commandQueue.run(jobs)
    // The responses of those tasks are still sent in this turn.
    if !jobs.isEmpty { for command in commandQueue.takeCommands() { driver.received(command) } }
    driver.endTurn()
  }
}

/// A system call that failed, with its errno.
package struct SystemError: Error, Hashable, CustomStringConvertible {
  package var code: Int32
  package var call: String

  package init(code: Int32, call: String) {
    self.code = code
    self.call = call
  }

  /// Whether the disk is full or the owner's quota is exhausted.
  package var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

  /// Whether the object exists already.
  var isExisting: Bool { code == EEXIST }

  /// Whether the reading end of the pipe is closed.
  package var isBrokenPipe: Bool { code == EPIPE }

  /// Whether the error may be temporary: the port is in use, a resource is exhausted, or the address is not assigned
  /// yet.
  package var isPassing: Bool { [EADDRINUSE, EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }

  package var reason: String { unsafe String(cString: strerror(code)) }

  package var description: String { "\(call): \(reason)" }
}
