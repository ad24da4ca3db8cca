import CCurl
import Reactor
import Synchronization

/// An HTTPS client over libcurl. Each of its threads creates one `FetchDriver` and calls its `turn`.
///
/// A fetch runs on the calling thread if that thread has a driver, else on the first driver's thread. A mail blocks its
/// thread for a while, so a fetcher for mails uses an idle thread for each. Limits and breakers of a provider cover all
/// threads. A fetch always ends within its time limit, so it ignores cancellation.
package final class CurlFetcher: HTTPSFetching {
  private struct State {
    var queues: [String: ProviderQueue<Exchange>] = [:]
    var closed = false
    /// The idle drivers of a fetcher for mails. The most recently used one is last: it may still have a connection to
    /// the relay.
    var idle: [Int] = []
  }

  let settings: FetchSettings
  private let inboxes: [CommandQueue<Exchange>]
  private let isOfMails: Bool
  private let state: Mutex<State>
  private let privateHosts: Mutex<Set<String>>

  /// - Parameter drivers: Number of threads that will call `driver`. Fetches wait until they do.
  package convenience init(_ settings: FetchSettings = FetchSettings(), drivers: Int) throws(FetchError) {
    try self.init(settings, drivers: drivers, isOfMails: false)
  }

  /// Creates a fetcher that only sends mails, each on its own thread.
  ///
  /// libcurl blocks the calling thread until the relay answers the end of a mail and QUIT, even in a multi handle. A
  /// slow relay must not delay another message.
  /// - Parameter mailsMax: Maximum number of mails in flight, and number of threads that call `driver`.
  package convenience init(_ settings: FetchSettings, mailsMax: Int) throws(FetchError) {
    var settings = settings
    settings.limits.perProviderMax = mailsMax
    try self.init(settings, drivers: mailsMax, isOfMails: true)
  }

  private init(_ settings: FetchSettings, drivers: Int, isOfMails: Bool) throws(FetchError) {
    guard CurlFetcher.libraryReady else { throw .unreachable("libcurl failed to start") }
    // A slow name server would block all other work on the thread.
    guard latchkey_curl_resolves_aside() else { throw .unreachable("libcurl resolves names on the calling thread") }
    self.settings = settings
    self.isOfMails = isOfMails
    privateHosts = Mutex(settings.privateHosts)
    state = Mutex(State(idle: isOfMails ? Array((0..<drivers).reversed()) : []))
    do throws(SystemError) {
      inboxes = try (0..<drivers).map { _ throws(SystemError) in try CommandQueue() }
    } catch {
      throw .unreachable("\(error)")
    }
  }

  /// Creates the driver with this number. Call it once per number, on the thread that will run the driver.
  package func driver(_ index: Int) throws(FetchError) -> FetchDriver {
    guard let driver = FetchDriver(self, inboxes[index]) else {
      closeInbox(inboxes[index])
      throw .unreachable("libcurl or the system cannot create a driver")
    }
    return driver
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    try await answer(to: try FetchJob(request, settings.limits))
  }

  /// Sends a mail to a relay and returns the status of its reply about the mail: 250 if accepted, else 400 or more. Any
  /// other failure is a `FetchError`, including a rejected login or sender.
  package func send(_ mail: MailRequest) async throws -> Int {
    try await answer(to: try FetchJob(mail, settings.limits)).status
  }

  private func answer(to job: FetchJob) async throws -> FetchedBody {
    let deadline = ContinuousClock.now + .milliseconds(settings.limits.totalTimeMillis)
    let home = inboxes.firstIndex { $0.isOfCurrentThread } ?? 0
    return try await withCheckedThrowingContinuation { continuation in
      arrived(Exchange(job: job, deadline: deadline, home: home, continuation: continuation))
    }
  }

  /// Replaces the hosts that may be private (`FetchSettings.privateHosts`), for fetches that have not started. A fetch
  /// may still use a connection that was opened before.
  package func allow(privateHosts: Set<String>) { self.privateHosts.withLock { $0 = privateHosts } }

  func allows(privateHost host: String) -> Bool { privateHosts.withLock { $0.contains(host) } }

  /// Number of waiting fetches.
  package var waitingCount: Int { state.withLock { $0.queues.values.reduce(0) { $0 + $1.waitingCount } } }

  /// The state of a provider's circuit breaker.
  package struct BreakerReading: Hashable, Sendable {
    /// Whether fetches fail immediately: the breaker is open or a trial is running.
    package var isOpen: Bool
    package var openings: Int
  }

  /// The circuit breakers of all providers used so far.
  package var breakers: [String: BreakerReading] {
    state.withLock { state in
      state.queues.mapValues { BreakerReading(isOpen: !$0.breaker.isClosed, openings: $0.breaker.openings) }
    }
  }

  /// Rejects all waiting and future fetches with `.closed`. Running fetches end with their driver.
  package func close() {
    let refused = state.withLock { state in
      state.closed = true
      return state.queues.keys.flatMap { state.queues[$0]?.allRefused(.closed).refused ?? [] }
    }
    for (exchange, why) in refused { exchange.end(.failure(why)) }
  }

  private func arrived(_ exchange: Exchange) {
    let arrival = state.withLock { state in
      if state.closed { return ProviderQueue<Exchange>.Arrival.refused(.closed) }
      return state.queues[exchange.job.provider, default: ProviderQueue(settings.limits)]
        .arrived(exchange, deadline: exchange.deadline, at: .now)
    }
    switch arrival {
    case .starts(let asTrial):
      var exchange = exchange
      exchange.isTrial = asTrial
      dispatch(exchange)
    case .waits: break
    case .refused(let why): exchange.end(.failure(why))
    }
  }

  /// Records the end of a fetch and starts the next ones.
  func ended(_ exchange: Exchange, _ result: Result<FetchedBody, FetchError>, _ end: Breaker.End) {
    let departures = state.withLock { state in
      if isOfMails, !inboxes[exchange.home].isClosed { state.idle.append(exchange.home) }
      return state.queues[exchange.job.provider]?.ended(end, asTrial: exchange.isTrial, at: .now)
        ?? ProviderQueue.Departures()
    }
    exchange.end(result)
    for next in departures.starting { dispatch(next) }
    for (late, why) in departures.refused { late.end(.failure(why)) }
  }

  /// Sends a fetch to the thread that requested it, or to another if that one has ended.
  private func dispatch(_ exchange: Exchange) {
    var exchange = exchange
    // An idle driver exists: there are at most as many mails in flight as drivers.
    if isOfMails, let idle = state.withLock({ $0.idle.popLast() }) { exchange.home = idle }
    if inboxes[exchange.home].post(exchange) || inboxes.contains(where: { $0.post(exchange) }) { return }
    close()
    exchange.end(.failure(.closed))
  }

  /// Closes the inbox of a thread that ends. Other threads take the fetches that it has not begun.
  func closeInbox(_ inbox: CommandQueue<Exchange>) {
    if isOfMails { state.withLock { $0.idle.removeAll { inboxes[$0] === inbox } } }
    inbox.close()
    for exchange in inbox.takeFromPoll() { dispatch(exchange) }
  }

  private static let libraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
