import CCurl
import Synchronization

/// HTTPS over libcurl, on as many threads as drive it: each makes one `FetchDriver` and turns it.
///
/// A fetch runs on the thread that asked for it, where that is one of those; else on the first. A mail blocks its
/// thread for a while, so a fetcher of mails runs each on an idle thread. Limits and breakers count all threads of a
/// provider. A fetch always ends within its time limit, so the caller's cancellation is ignored.
package final class CurlFetcher: HTTPSFetching {
  private struct State {
    var lanes: [String: Lane<Exchange>] = [:]
    var closed = false
    /// The drivers of a fetcher of mails that have nothing under way, the one that was busy last at the end: it may
    /// still have a connection to the relay.
    var idle: [Int] = []
  }

  let settings: FetchSettings
  private let inboxes: [Inbox]
  private let isOfMails: Bool
  private let state: Mutex<State>

  /// - Parameter drivers: how many threads will call `driver`. Fetches wait until they have.
  package convenience init(_ settings: FetchSettings = FetchSettings(), drivers: Int) throws(FetchError) {
    try self.init(settings, drivers: drivers, isOfMails: false)
  }

  /// Sends mails only, each on a thread of its own.
  ///
  /// libcurl blocks its caller's thread until the relay answers the end of a mail and QUIT, even in a multi handle. A
  /// relay that is slow there must not delay another message.
  /// - Parameter mailsMax: the mails under way, and the threads that call `driver`.
  package convenience init(_ settings: FetchSettings, mailsMax: Int) throws(FetchError) {
    var settings = settings
    settings.limits.perProviderMax = mailsMax
    try self.init(settings, drivers: mailsMax, isOfMails: true)
  }

  private init(_ settings: FetchSettings, drivers: Int, isOfMails: Bool) throws(FetchError) {
    guard CurlFetcher.libraryReady else { throw .unreachable("libcurl failed to start") }
    // Name servers that are slow would hold up everything else on the thread.
    guard latchkey_curl_resolves_aside() else { throw .unreachable("libcurl resolves names on its caller's thread") }
    self.settings = settings
    self.isOfMails = isOfMails
    state = Mutex(State(idle: isOfMails ? Array((0..<drivers).reversed()) : []))
    var inboxes: [Inbox] = []
    for _ in 0..<drivers { inboxes.append(try Inbox()) }
    self.inboxes = inboxes
  }

  /// The driver of this number, on the thread that will turn it; once for each.
  package func driver(_ index: Int) throws(FetchError) -> FetchDriver {
    guard let driver = FetchDriver(self, inboxes[index]) else {
      closeInbox(inboxes[index])
      throw .unreachable("libcurl or the system refuses a driver")
    }
    return driver
  }

  package func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    try await answer(to: try Order(request, settings.limits))
  }

  /// Hands a mail to a relay, and returns the status of its answer: 250 where it took it, else one of 400 or more that
  /// is about the mail. Everything else, a refused login or sender among it, is a `FetchError`.
  package func send(_ mail: MailRequest) async throws -> Int {
    try await answer(to: try Order(mail, settings.limits)).status
  }

  private func answer(to order: Order) async throws -> FetchedBody {
    let deadline = ContinuousClock.now + .milliseconds(settings.limits.totalTimeMillis)
    let home = inboxes.firstIndex { $0.isOfCurrentThread } ?? 0
    return try await withCheckedThrowingContinuation { continuation in
      arrived(Exchange(order: order, deadline: deadline, home: home, continuation: continuation))
    }
  }

  /// Fetches that wait for their turn.
  package var waitingCount: Int { state.withLock { $0.lanes.values.reduce(0) { $0 + $1.waitingCount } } }

  /// What the circuit breaker of a provider is about.
  package struct BreakerReading: Hashable, Sendable {
    /// Fetches fail fast, or wait for what comes of the trial.
    package var isOpen: Bool
    package var openings: Int
  }

  /// Of the providers that were asked so far.
  package var breakers: [String: BreakerReading] {
    state.withLock { state in
      state.lanes.mapValues { BreakerReading(isOpen: !$0.breaker.isClosed, openings: $0.breaker.openings) }
    }
  }

  /// Refuses what waits, and all that comes, with `.closed`. What is under way ends with its driver.
  package func close() {
    let refused = state.withLock { state in
      state.closed = true
      return state.lanes.keys.flatMap { state.lanes[$0]?.allRefused(.closed).refused ?? [] }
    }
    for (exchange, why) in refused { exchange.end(.failure(why)) }
  }

  private func arrived(_ exchange: Exchange) {
    let arrival = state.withLock { state in
      if state.closed { return Lane<Exchange>.Arrival.refused(.closed) }
      return state.lanes[exchange.order.provider, default: Lane(settings.limits)]
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

  /// A driver has done with a fetch.
  func ended(_ exchange: Exchange, _ result: Result<FetchedBody, FetchError>, _ end: Breaker.End) {
    let departures = state.withLock { state in
      if isOfMails { state.idle.append(exchange.home) }
      return state.lanes[exchange.order.provider]?.ended(end, asTrial: exchange.isTrial, at: .now) ?? Lane.Departures()
    }
    exchange.end(result)
    for next in departures.starting { dispatch(next) }
    for (late, why) in departures.refused { late.end(.failure(why)) }
  }

  /// To the thread that asked for it, or to another where that one has ended.
  private func dispatch(_ exchange: Exchange) {
    var exchange = exchange
    // There is one: as many mails are under way at most as there are drivers.
    if isOfMails, let idle = state.withLock({ $0.idle.popLast() }) { exchange.home = idle }
    if inboxes[exchange.home].put(exchange) || inboxes.contains(where: { $0.put(exchange) }) { return }
    close()
    exchange.end(.failure(.closed))
  }

  /// Its thread ends. What it has not begun is done by another.
  func closeInbox(_ inbox: Inbox) {
    if isOfMails { state.withLock { $0.idle.removeAll { inboxes[$0] === inbox } } }
    for exchange in inbox.close() { dispatch(exchange) }
  }

  private static let libraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}
