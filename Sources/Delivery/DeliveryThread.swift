package import HTTPClient
internal import Reactor

/// Fetchers for message delivery. A mail blocks its thread, so mails have threads of their own.
package struct DeliveryFetchers: Sendable {
  /// Fetcher for SMTP; `nil` if no message uses SMTP.
  package var mails: CurlFetcher?
  /// Number of SMTP drivers.
  package var mailsMax = 0
  /// Fetcher for webhooks; `nil` if no message uses one.
  package var webhook: CurlFetcher?

  package init() {}

  package func startThreads() throws -> [DeliveryThread] {
    let forMails = try mails.map { mails in
      try (0..<mailsMax).map { try DeliveryThread(mails, driver: $0) }
    }
    return try (forMails ?? []) + (webhook.map { [try DeliveryThread($0, driver: 0)] } ?? [])
  }
}

/// A thread that runs one driver of a delivery fetcher, so that relays and webhooks do not load the reactors.
package final class DeliveryThread: Sendable {
  package enum Command: Sendable { case stop }

  private let commandQueue: CommandQueue<Command>

  /// Starts the thread.
  /// - Parameter index: the index of the driver.
  package init(_ fetcher: CurlFetcher, driver index: Int) throws {
    commandQueue = try CommandQueue()
    try startPart(named: "delivery-\(index)", niceness: 10) { [commandQueue] in
      let turning = try Turning(commandQueue, fetcher.driver(index))
      return { turning.run() }
    }
  }

  /// Stops the thread. Requests in progress fail with `FetchError.closed`.
  package func stop() { commandQueue.post(.stop) }

  private final class Turning: ReactorDriver {
    private let reactor: Reactor<Turning>
    private let driver: FetchDriver

    init(_ commandQueue: CommandQueue<DeliveryThread.Command>, _ driver: FetchDriver) throws {
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
    func received(_ command: DeliveryThread.Command) { reactor.stop() }
    func decide() {}
    func endTurn() {}
    var hasLeftovers: Bool { false }
  }
}
