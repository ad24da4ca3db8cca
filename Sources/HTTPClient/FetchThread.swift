package import Reactor

/// A thread that runs one driver of a fetcher, so that its fetches do not load the reactors.
package final class FetchThread: Sendable {
  enum Command: Sendable { case stop }

  let commandQueue: CommandQueue<Command>
  /// The end of the thread.
  package let ended = Completion()

  /// Starts the thread.
  /// - Parameter index: the index of the driver.
  package init(_ fetcher: CurlFetcher, driver index: Int, named name: String) throws {
    commandQueue = try CommandQueue()
    try startPart(named: name, niceness: 10) { [commandQueue, ended] in
      let turning = try Turning(commandQueue, fetcher.driver(index))
      return {
        turning.run()
        ended.end()
      }
    }
  }

  /// Stops the thread. Fetches in progress fail with `FetchError.closed`.
  package func stop() { commandQueue.post(.stop) }

  private final class Turning: ReactorDriver {
    private let reactor: Reactor<Turning>
    private let driver: FetchDriver

    init(_ commandQueue: CommandQueue<Command>, _ driver: FetchDriver) throws {
      self.driver = driver
      reactor = try Reactor(commandQueue: commandQueue)
      try reactor.watch(driver.descriptor, Ticket(slot: 0, generation: 0), read: true, write: false)
    }

    func run() {
      reactor.run(self)
      driver.close()
    }

    func ready(_ ticket: Ticket, readable: Bool, writable: Bool) { driver.turn() }
    func timerFired(_ ticket: Ticket, kind: UInt32) {}
    func received(_ command: Command) { reactor.stop() }
    func decide() {}
    func endTurn() {}
    var hasLeftovers: Bool { false }
  }
}
