internal import Fetch
internal import Reactor

/// A thread that turns the fetcher of messages, so that no relay and no webhook ever costs a reactor anything.
final class DeliveryThread: Sendable {
  enum Letter: Sendable { case stop }

  private let mailbox: Mailbox<Letter>

  /// Throws where there is nothing to turn it by.
  init(_ fetcher: CurlFetcher) throws {
    mailbox = try Mailbox()
    try startPart(named: "delivery", niceness: 10) { [mailbox] in
      let turning = try Turning(mailbox, fetcher.driver(0))
      return { turning.run() }
    }
  }

  /// What is under way ends with `FetchError.closed`.
  func stop() { mailbox.post(.stop) }

  private final class Turning: ReactorDriver {
    private let reactor: Reactor<Turning>
    private let driver: FetchDriver

    init(_ mailbox: Mailbox<DeliveryThread.Letter>, _ driver: FetchDriver) throws {
      self.driver = driver
      reactor = try Reactor(mailbox: mailbox)
      try reactor.watch(driver.descriptor, Ticket(slot: 0, generation: 0), read: true, write: false)
    }

    func run() {
      reactor.run(self)
      driver.close()
    }

    func ready(_ ticket: Ticket, readable: Bool, writable: Bool) { driver.turn() }
    func timerFired(_ ticket: Ticket, kind: UInt32) {}
    func received(_ letter: DeliveryThread.Letter) { reactor.stop() }
    func decide() {}
    func endTurn() {}
    var hasLeftovers: Bool { false }
  }
}
