import CLinux
import Synchronization

@testable import Reactor

/// What happened, in order; written by a reactor's thread and read by a test's.
final class Notes<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  func add(_ value: Value) { list.withLock { $0.append(value) } }

  var all: [Value] { list.withLock { $0 } }
}

/// A driver that notes what it is called for and runs what it is sent.
final class Probe: ReactorDriver {
  enum Letter: Sendable {
    case note(String)
    case act(@Sendable (Probe) -> Void)
    case stop
  }

  let reactor: Reactor<Probe>
  let events: Notes<String>
  var leftoverTurns = 0
  var onReady: ((Ticket) -> Void)?
  var onTimer: (() -> Void)?

  init(_ mailbox: Mailbox<Letter>, _ events: Notes<String>) throws {
    reactor = try Reactor(mailbox: mailbox)
    self.events = events
  }

  func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {
    events.add("ready \(ticket.slot).\(ticket.generation)\(readable ? " read" : "")\(writable ? " write" : "")")
    onReady?(ticket)
  }

  func timerFired(_ ticket: Ticket, kind: UInt32) {
    events.add("timer \(ticket.slot) \(kind)")
    onTimer?()
  }

  func received(_ letter: Letter) {
    switch letter {
    case .note(let text): events.add(text)
    case .act(let body): body(self)
    case .stop: reactor.stop()
    }
  }

  func decide() { events.add("decide") }

  func endTurn() {
    events.add("end")
    if leftoverTurns > 0 { leftoverTurns -= 1 }
  }

  var hasLeftovers: Bool { leftoverTurns > 0 }
}

/// A reactor on a thread of its own.
final class Loop: Sendable {
  let mailbox: Mailbox<Probe.Letter>
  let events = Notes<String>()
  private let ended = Wakeups()

  init() throws {
    mailbox = try Mailbox()
    startThread(named: "test-reactor") { [mailbox, events, ended] in
      guard let probe = try? Probe(mailbox, events) else { return }
      probe.reactor.run(probe)
      ended.signal()
    }
  }

  /// Runs `body` on the reactor's thread and waits until it has.
  func act(_ body: @escaping @Sendable (Probe) -> Void) {
    let done = Wakeups()
    mailbox.post(.act { probe in
      body(probe)
      done.signal()
    })
    done.wait()
  }

  /// Runs `body` on the reactor's thread and waits until it, or what it started, signals.
  func actUntilSignalled(_ body: @escaping @Sendable (Probe, Wakeups) -> Void) {
    let done = Wakeups()
    mailbox.post(.act { body($0, done) })
    done.wait()
  }

  func end() {
    mailbox.post(.stop)
    ended.wait()
  }
}

/// Two sockets joined to each other.
final class Pair: Sendable {
  let near: Int32
  let far: Int32

  init() {
    var (near, far): (Int32, Int32) = (-1, -1)
    precondition(unsafe lk_socketpair(&near, &far) == 0)
    (self.near, self.far) = (near, far)
  }

  func write() { writeAll([1], to: far) }

  func close() {
    lk_close(near)
    lk_close(far)
  }
}

func currentThread() -> UInt { UInt(pthread_self()) }
