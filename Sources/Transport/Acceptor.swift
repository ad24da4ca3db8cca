internal import Observability
package import Reactor
internal import Synchronization

/// The driver of the accepting thread: takes connections within the limits and gives each to the least loaded worker.
package final class Acceptor: ReactorDriver {
  package enum Command: Sendable { case stop }

  private static let pauseTicket = Ticket(slot: .max - 1, generation: 0)
  private static let acceptsPerTurnMax = 64
  private static let pauseMillis: Int64 = 10

  private let reactor: Reactor<Acceptor>
  /// The listening sockets. Their tickets are their indexes.
  private let listeners: [Listening]
  private let workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)]
  private let loads: [Load]
  private let shared: Shared
  private var paused = false

  package init(
    _ listeners: [Listening], commandQueue: CommandQueue<Command>,
    workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)],
    shared: Shared
  ) throws {
    self.listeners = listeners
    self.workers = workers
    loads = workers.map { $0.load }
    self.shared = shared
    reactor = try Reactor(commandQueue: commandQueue)
    for (index, listener) in listeners.enumerated() {
      try reactor.watch(listener.descriptor, Acceptor.ticket(index), read: true, write: false)
    }
  }

  private static func ticket(_ index: Int) -> Ticket { Ticket(slot: UInt32(index), generation: 0) }

  package func run() { reactor.run(self) }

  package func ready(_ ticket: Ticket, readable: Bool, writable: Bool) { accept(from: listeners[Int(ticket.slot)]) }

  package func timerFired(_ ticket: Ticket, kind: UInt32) {
    paused = false
    watch(true)
    for listener in listeners where !paused { accept(from: listener) }
  }

  package func received(_ command: Command) { reactor.stop() }
  package func decide() {}
  package func endTurn() {}
  package var hasLeftovers: Bool { false }

  private func accept(from listening: Listening) {
    for _ in 0..<Acceptor.acceptsPerTurnMax {
      // A handshake is the most expensive work that an unauthenticated client can request. Past the limit, further
      // connections wait in the kernel's accept queue.
      guard let index = Load.least(of: loads, newcomersMax: shared.limits.newcomersPerReactorMax) else {
        shared.metrics.reached(.newcomers)
        return pause()
      }
      switch listening.accept() {
      case .none: return
      case .gone: continue
      case .exhausted: return pause()
      case .turnedAway(let address): shared.reached(.descriptors, address)
      case .connection(let descriptor, let address):
        let isProxied = shared.isProxy(address)
        if let limit = shared.counts.enter(address, isProxied: isProxied, nowMillis: reactor.nowMillis) {
          shared.reached(limit, address)
          closeDescriptor(descriptor)
          continue
        }
        shared.metrics.accepts()
        let worker = workers[index]
        worker.load.connections.add(1, ordering: .relaxed)
        worker.load.newcomers.add(1, ordering: .relaxed)
        worker.commandQueue.post(.accepted(descriptor: descriptor, address: address, isProxied: isProxied))
      }
    }
  }

  private func pause() {
    guard !paused else { return }
    paused = true
    watch(false)
    reactor.startTimer(Acceptor.pauseTicket, kind: 0, delayMillis: Acceptor.pauseMillis)
  }

  private func watch(_ read: Bool) {
    do {
      for (index, listener) in listeners.enumerated() {
        try reactor.change(listener.descriptor, Acceptor.ticket(index), read: read, write: false)
      }
    } catch {
      preconditionFailure("the listening socket cannot be watched: \(error)")
    }
  }
}
