// Reactor: event loops, threads and operating-system calls.
//
// Owns: the epoll loop and its turns, tickets, timers, the command queue and task executor for other threads, bounded
// worker threads for slow computation, counters with a single writer, plain sockets, private files, the clock.
// Does not own: TLS on a socket (TLS), fairness among connections (Transport).
// Read next: CommandQueue.swift, then Transport/Connection.swift, which does the work of a turn.

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
  private let epoll: Int32
  private let commandQueue: CommandQueue<Driver.Command>
  private var timers = Timers()
  private var stopped = false
  /// Monotonic time, read once per turn when the reactor wakes.
  package private(set) var nowNanos: Int64
  package private(set) var nowMillis: Int64

  package init(commandQueue: CommandQueue<Driver.Command>) throws {
    epoll = lk_epoll_create()
    guard epoll >= 0 else { throw SystemError(code: -epoll, call: "epoll_create1") }
    self.commandQueue = commandQueue
    nowNanos = lk_monotonic_nanos()
    nowMillis = nowNanos / 1_000_000
    try control(LK_ADD, commandQueue.wakeDescriptor, read: true, write: false, Ticket.wake)
  }

  deinit { lk_close(epoll) }

  /// Starts to watch a descriptor, level-triggered.
  package func watch(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try control(LK_ADD, descriptor, read: read, write: write, ticket)
  }

  package func change(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try control(LK_CHANGE, descriptor, read: read, write: write, ticket)
  }

  package func unwatch(_ descriptor: Int32) throws {
    try control(LK_REMOVE, descriptor, read: false, write: false, Ticket.wake)
  }

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
    let most = 256
    unsafe withUnsafeTemporaryAllocation(of: lk_ready.self, capacity: most) { ready in
      let idle = commandQueue.prepareToSleep() && !driver.hasLeftovers
      let timeout = idle ? timers.sleepMillis(from: lk_monotonic_millis()) : 0
      let count = unsafe lk_epoll_wait(epoll, ready.baseAddress, Int32(most), timeout)
      precondition(count >= 0, "epoll_wait failed, which indicates a bug: errno \(-count)")
      nowNanos = lk_monotonic_nanos()
      nowMillis = nowNanos / 1_000_000
      for index in 0..<Int(count) {
        let event = unsafe ready[index]
        if event.ticket == Ticket.wake.packed {
          commandQueue.clearWake()
          continue
        }
        // The read or write that follows reports an error or hang-up.
        let broken = event.flags & UInt32(LK_HANGUP) != 0
        driver.ready(
          Ticket(packed: event.ticket), readable: broken || event.flags & UInt32(LK_READ) != 0,
          writable: event.flags & UInt32(LK_WRITE) != 0)
      }
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

  private func control(_ operation: Int, _ descriptor: Int32, read: Bool, write: Bool, _ ticket: Ticket) throws {
    let flags = (read ? UInt32(LK_READ) : 0) | (write ? UInt32(LK_WRITE) : 0)
    let result = lk_epoll_control(epoll, Int32(operation), descriptor, flags, ticket.packed)
    guard result == 0 else { throw SystemError(code: -result, call: "epoll_ctl") }
  }
}

/// A slot of a reactor's table, with a generation. The generation identifies events for a closed connection whose slot
/// is in use again, so that the driver drops them.
package struct Ticket: Hashable, Sendable {
  package var slot: UInt32
  package var generation: UInt32

  package init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  package init(packed: UInt64) {
    slot = UInt32(truncatingIfNeeded: packed)
    generation = UInt32(truncatingIfNeeded: packed >> 32)
  }

  package var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

  /// The ticket of the command queue's descriptor.
  static let wake = Ticket(slot: .max, generation: .max)
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

  /// Whether the reading end of the pipe is closed.
  package var isBrokenPipe: Bool { code == EPIPE }

  /// Whether the error may be temporary: the port is in use, a resource is exhausted, or the address is not assigned
  /// yet.
  package var isPassing: Bool { [EADDRINUSE, EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }

  package var reason: String { unsafe String(cString: strerror(code)) }

  package var description: String { "\(call): \(reason)" }
}
