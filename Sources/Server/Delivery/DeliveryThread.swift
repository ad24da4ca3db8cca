internal import Fetch
internal import Reactor

/// What messages need of the network: mails block their threads, and so have their own.
struct DeliveryFetchers: Sendable {
  /// nil: no mail leaves by SMTP.
  var mails: CurlFetcher?
  /// The number of its drivers.
  var mailsMax = 0
  /// nil: nothing leaves by a webhook.
  var webhook: CurlFetcher?

  func startThreads() throws -> [DeliveryThread] {
    let forMails = try mails.map { mails in
      try (0..<mailsMax).map { try DeliveryThread(mails, driver: $0) }
    }
    return try (forMails ?? []) + (webhook.map { [try DeliveryThread($0, driver: 0)] } ?? [])
  }
}

/// A thread that runs one driver of a fetcher of messages: relays and webhooks cost the reactors nothing.
final class DeliveryThread: Sendable {
  enum Letter: Sendable { case stop }

  private let mailbox: Mailbox<Letter>

  /// - Parameter index: the number of the driver.
  init(_ fetcher: CurlFetcher, driver index: Int) throws {
    mailbox = try Mailbox()
    try startPart(named: "delivery-\(index)", niceness: 10) { [mailbox] in
      let turning = try Turning(mailbox, fetcher.driver(index))
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
