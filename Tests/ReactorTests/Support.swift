import CLinux
import Synchronization

@testable import Reactor

/// Events in their order, written by a reactor's thread and read by a test's.
final class Notes<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  func add(_ value: Value) { list.withLock { $0.append(value) } }

  var all: [Value] { list.withLock { $0 } }
}

/// A driver that records its calls and runs the commands that it receives.
final class Probe: ReactorDriver {
  enum Command: Sendable {
    case note(String)
    case act(@Sendable (Probe) -> Void)
    case stop
  }

  let reactor: Reactor<Probe>
  let events: Notes<String>
  var leftoverTurns = 0
  var onReady: ((Ticket) -> Void)?
  var onTimer: (() -> Void)?

  init(_ commandQueue: CommandQueue<Command>, _ events: Notes<String>) throws {
    reactor = try Reactor(commandQueue: commandQueue)
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

  func received(_ command: Command) {
    switch command {
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

/// A reactor on its own thread.
final class Loop: Sendable {
  let commandQueue: CommandQueue<Probe.Command>
  let events = Notes<String>()
  private let ended = Wakeups()

  init() throws {
    commandQueue = try CommandQueue()
    startThread(named: "test-reactor") { [commandQueue, events, ended] in
      guard let probe = try? Probe(commandQueue, events) else { return }
      probe.reactor.run(probe)
      ended.signal()
    }
  }

  /// Runs `body` on the reactor's thread and waits until it has returned.
  func act(_ body: @escaping @Sendable (Probe) -> Void) {
    let done = Wakeups()
    commandQueue.post(.act { probe in
      body(probe)
      done.signal()
    })
    done.wait()
  }

  /// Runs `body` on the reactor's thread and waits until it, or a task that it started, signals.
  func actUntilSignalled(_ body: @escaping @Sendable (Probe, Wakeups) -> Void) {
    let done = Wakeups()
    commandQueue.post(.act { body($0, done) })
    done.wait()
  }

  func end() {
    commandQueue.post(.stop)
    ended.wait()
  }
}

/// Two connected sockets.
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
