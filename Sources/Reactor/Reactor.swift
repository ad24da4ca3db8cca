// Reactor: threads that wait.
//
// Owns: the epoll loop and its turn, tickets, timers, the mailbox and task executor by which other threads reach a
// reactor, bounded workers for slow computing, tallies that one thread writes, plain sockets, the clock.
// Does not own: what a socket says (TLS), whose turn it is among connections (Server).
// Read next: Mailbox.swift, then Server/Connection.swift, which is what a turn does.

internal import CLinux

/// What a reactor drives. All calls come on the reactor's own thread, in this order within a turn: `ready` for every
/// socket, `timerFired`, `received` for letters, `decide`, the jobs of resumed tasks, `received` for what those jobs
/// answered, `endTurn`. No socket is read between `decide` and `endTurn`, so that one snapshot serves all decisions.
package protocol ReactorDriver: AnyObject {
  associatedtype Letter: Sendable
  func ready(_ ticket: Ticket, readable: Bool, writable: Bool)
  func timerFired(_ ticket: Ticket, kind: UInt32)
  func received(_ letter: Letter)
  func decide()
  func endTurn()
  /// Work is left over from this turn's fairness limits: the next turn must not sleep.
  var hasLeftovers: Bool { get }
}

/// One epoll loop. Lives on one thread and is never shared; other threads hold its `Mailbox`.
package final class Reactor<Driver: ReactorDriver> {
  private let epoll: Int32
  private let mailbox: Mailbox<Driver.Letter>
  private var timers = Timers()
  private var stopped = false
  /// Monotonic, read once a turn, when it wakes.
  package private(set) var nowNanos: Int64
  package private(set) var nowMillis: Int64

  package init(mailbox: Mailbox<Driver.Letter>) throws {
    epoll = lk_epoll_create()
    guard epoll >= 0 else { throw SystemError(code: -epoll, call: "epoll_create1") }
    self.mailbox = mailbox
    nowNanos = lk_monotonic_nanos()
    nowMillis = nowNanos / 1_000_000
    try control(LK_ADD, mailbox.wakeDescriptor, read: true, write: false, Ticket.wake)
  }

  deinit { lk_close(epoll) }

  /// Starts watching a descriptor; level-triggered.
  package func watch(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try control(LK_ADD, descriptor, read: read, write: write, ticket)
  }

  package func change(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws {
    try control(LK_CHANGE, descriptor, read: read, write: write, ticket)
  }

  package func unwatch(_ descriptor: Int32) throws {
    try control(LK_REMOVE, descriptor, read: false, write: false, Ticket.wake)
  }

  /// Fires once, at the earliest in `delayMillis`. Never cancelled: who is woken looks whether it still matters.
  package func startTimer(_ ticket: Ticket, kind: UInt32, delayMillis: Int64) {
    timers.add(Timers.Entry(atMillis: nowMillis + max(0, delayMillis), ticket: ticket, kind: kind))
  }

  /// Ends `run` after the current turn.
  package func stop() { stopped = true }

  package func run(_ driver: Driver) {
    mailbox.adoptCurrentThread()
    while !stopped { turn(driver) }
  }

  private func turn(_ driver: Driver) {
    let most = 256
    unsafe withUnsafeTemporaryAllocation(of: lk_ready.self, capacity: most) { ready in
      let idle = mailbox.prepareToSleep() && !driver.hasLeftovers
      let timeout = idle ? timers.sleepMillis(from: lk_monotonic_millis()) : 0
      let count = unsafe lk_epoll_wait(epoll, ready.baseAddress, Int32(most), timeout)
      precondition(count >= 0, "epoll_wait can fail only through a mistake of ours: errno \(-count)")
      nowNanos = lk_monotonic_nanos()
      nowMillis = nowNanos / 1_000_000
      for index in 0..<Int(count) {
        let event = unsafe ready[index]
        if event.ticket == Ticket.wake.packed {
          mailbox.clearWake()
          continue
        }
        // An error or hang-up is found by the read or write that follows it.
        let broken = event.flags & UInt32(LK_HANGUP) != 0
        driver.ready(
          Ticket(packed: event.ticket), readable: broken || event.flags & UInt32(LK_READ) != 0,
          writable: event.flags & UInt32(LK_WRITE) != 0)
      }
    }
    while let fired = timers.popDue(at: nowMillis) { driver.timerFired(fired.ticket, kind: fired.kind) }
    let (letters, jobs) = mailbox.take()
    for letter in letters { driver.received(letter) }
    driver.decide()
    mailbox.run(jobs)
    // What those tasks answered still leaves in this turn.
    if !jobs.isEmpty { for letter in mailbox.takeLetters() { driver.received(letter) } }
    driver.endTurn()
  }

  private func control(_ operation: Int, _ descriptor: Int32, read: Bool, write: Bool, _ ticket: Ticket) throws {
    let flags = (read ? UInt32(LK_READ) : 0) | (write ? UInt32(LK_WRITE) : 0)
    let result = lk_epoll_control(epoll, Int32(operation), descriptor, flags, ticket.packed)
    guard result == 0 else { throw SystemError(code: -result, call: "epoll_ctl") }
  }
}

/// Names a slot of a reactor's table and which tenant of it is meant: an event for a connection that has gone and whose
/// slot was given away is recognised and dropped.
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

  /// The mailbox's own descriptor.
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

  /// There is no room left, or none for this owner.
  package var isFullDisk: Bool { code == ENOSPC || code == EDQUOT }

  /// Nobody reads any more what is written.
  package var isBrokenPipe: Bool { code == EPIPE }

  /// Somebody else has the port, or all that there is of something; or the address is on its way to this machine.
  package var isPassing: Bool { [EADDRINUSE, EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) }

  package var reason: String { unsafe String(cString: strerror(code)) }

  package var description: String { "\(call): \(reason)" }
}
