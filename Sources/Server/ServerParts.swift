internal import Configuration
internal import Delivery
internal import HTTP1
internal import HTTPClient
internal import Observability
internal import Reactor
internal import Services
internal import Store
internal import Synchronization
internal import Transport

/// The reactors, which serve the connections.
final class ReactorsPart: Part {
  typealias Place = (commandQueue: CommandQueue<WorkerCommand>, load: Load)

  /// Time after the drain until the calls that have not ended are cut off, and time to stop.
  private static let cutOffMillis: Int64 = 2_000
  private static let stopMillis: Int64 = 2_000

  let name = "reactors"
  let places: [Place]
  private let shared: Shared
  private let calls: CallMetrics
  private let fetcher: CurlFetcher
  private let running: Atomic<Int>
  private let ended = Completion()

  init(_ places: [Place], _ shared: Shared, _ calls: CallMetrics, _ fetcher: CurlFetcher) {
    self.places = places
    self.shared = shared
    self.calls = calls
    self.fetcher = fetcher
    running = Atomic(places.count)
  }

  /// Returns when every reactor accepts connections. A connection handed to one that is not ready would hang.
  func start() throws {
    let tried = Wakeups()
    let failures = Mutex<[ConfigurationError]>([])
    for (index, place) in places.enumerated() {
      startThread(named: "reactor-\(index)") { [self] in
        bePrompt()
        do {
          let worker = try Worker(
            shared: shared, commandQueue: place.commandQueue, load: place.load, meter: calls.meter(ofReactor: index),
            fetches: fetcher.driver(index))
          try worker.attach()
          tried.signal()
          worker.run()
        } catch {
          shared.log.error("a reactor cannot run", ["why": "\(error)"])
          let isPassing = ConfigurationError.isPassing(error)
          failures.withLock {
            $0.append(ConfigurationError(setting: "reactors", why: "one cannot run: \(error)", isPassing: isPassing))
          }
          tried.signal()
        }
        if running.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.end() }
      }
    }
    for _ in places { tried.wait() }
    if let failure = failures.withLock(\.first) { throw failure }
  }

  /// Lets calls in flight finish within `limits.drainMillis`.
  func drain() async {
    post(.drain)
    let hasEnded = await ended.wait(millis: shared.limits.drainMillis + ReactorsPart.cutOffMillis)
    if !hasEnded { post(.stop) }
  }

  /// Gives up reactors that do not stop in time, for example because a disk does not respond.
  func stop() async throws {
    post(.stop)
    guard await !ended.wait(millis: ReactorsPart.stopMillis) else { return }
    let left = running.load(ordering: .acquiring)
    throw UnendedPart(description: "\(left) of \(places.count) reactors do not stop")
  }

  private func post(_ command: WorkerCommand) {
    for place in places { place.commandQueue.post(command) }
  }
}

/// The thread that accepts connections, from `allow` on.
final class AcceptorPart: Part {
  private static let stopMillis: Int64 = 2_000

  let name = "acceptor"
  private let sockets: [BoundSocket]
  private let reactors: ReactorsPart
  private let shared: Shared
  private let commandQueue: CommandQueue<Acceptor.Command>
  private let mayAccept = Wakeups()
  private let closed = Completion()
  private let isRunning = Atomic<Bool>(false)

  init(_ sockets: [BoundSocket], _ reactors: ReactorsPart, _ shared: Shared) throws {
    self.sockets = sockets
    self.reactors = reactors
    self.shared = shared
    commandQueue = try CommandQueue()
  }

  /// Returns when the acceptor exists.
  func start() throws {
    try ConfigurationError.naming("listen") {
      try startPart(named: name) { [self] in
        var acceptor: Acceptor? = try Acceptor(
          sockets.map(Listening.init), commandQueue: commandQueue, workers: reactors.places, shared: shared)
        return {
          self.mayAccept.wait()
          acceptor?.run()
          // The listening sockets close before the reactors drain, so no accepted connection is left unserved.
          acceptor = nil
          self.closed.end()
        }
      }
    }
    isRunning.store(true, ordering: .releasing)
  }

  func allow() { mayAccept.signal() }

  func drain() async throws {
    guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
    commandQueue.post(.stop)
    guard await closed.wait(millis: AcceptorPart.stopMillis) else {
      throw UnendedPart(description: "the listening sockets are still open")
    }
  }

  func stop() async throws {
    // Without a drain, it still waits for the permission to accept.
    if isRunning.load(ordering: .acquiring) { allow() }
    try await drain()
  }
}

/// An endpoint over HTTP/1.1.
final class EndpointPart: Part {
  private static let stopMillis: Int64 = 500

  let name: String
  /// The socket that the service manager has passed.
  private let passed: BoundSocket?
  private let address: String
  private let port: UInt16
  private let backlog: Int32
  private let site: HTTPSite
  private let log: Log
  private let commandQueue: CommandQueue<HTTPEndpoint.Command>
  private let ended = Completion()
  private let isRunning = Atomic<Bool>(false)

  init(
    _ name: String, _ passed: BoundSocket?, address: String, port: UInt16, backlog: Int32, _ site: HTTPSite, _ log: Log
  ) throws {
    self.name = name
    self.passed = passed
    self.address = address
    self.port = port
    self.backlog = backlog
    self.site = site
    self.log = log
    commandQueue = try CommandQueue()
  }

  func start() throws {
    let bound = try ConfigurationError.naming(name) {
      let socket = try passed ?? BoundSocket(address: address, port: port, backlog: backlog)
      return try HTTPEndpoint.start(site, on: socket, commandQueue, ended: ended, log: log)
    }
    isRunning.store(true, ordering: .releasing)
    log.info(name, ["address": "\(address):\(bound)"])
  }

  func stop() async throws {
    guard isRunning.load(ordering: .acquiring) else { return }
    commandQueue.post(.stop)
    guard await ended.wait(millis: EndpointPart.stopMillis) else {
      throw UnendedPart(description: "its thread still runs")
    }
  }
}

/// Work that a task repeats until the server stops.
final class TaskPart: Part {
  let name: String
  private let stopMillis: Int64
  private let begin: @Sendable () -> Task<Void, Never>
  private let task = Mutex<Task<Void, Never>?>(nil)

  /// - Parameter stopMillis: time for the work in progress after the task is cancelled.
  init(_ name: String, stopMillis: Int64, _ begin: @escaping @Sendable () -> Task<Void, Never>) {
    self.name = name
    self.stopMillis = stopMillis
    self.begin = begin
  }

  func start() { task.withLock { $0 = begin() } }

  /// Waits for the work in progress, which may need parts that stop later.
  func stop() async throws {
    guard let task = task.withLock(\.self) else { return }
    task.cancel()
    guard await task.completion.wait(millis: stopMillis) else {
      throw UnendedPart(description: "its work is still in progress")
    }
  }
}

extension Task<Void, Never> {
  /// The end of the task.
  fileprivate var completion: Completion {
    let completion = Completion()
    Task<Void, Never>.detached {
      await value
      completion.end()
    }
    return completion
  }
}

/// The health that load balancers read. Its drain reports NOT_SERVING and waits, so that they stop sending connections
/// while the server still accepts them.
struct HealthPart: Part {
  let name = "health"
  private let health: HealthState
  private let reactors: [ReactorsPart.Place]
  private let lameDuckMillis: Int64

  init(_ health: HealthState, _ reactors: [ReactorsPart.Place], lameDuckMillis: Int64) {
    self.health = health
    self.reactors = reactors
    self.lameDuckMillis = lameDuckMillis
  }

  func drain() async {
    health.stopServing()
    guard lameDuckMillis > 0 else { return }
    for place in reactors { place.commandQueue.post(.healthChanged) }
    try? await Task.sleep(nanoseconds: UInt64(lameDuckMillis) * 1_000_000)
  }
}

/// A component without a thread of its own that must be closed at the end. Its close has no limit but that for all
/// parts.
struct ClosingPart: Part {
  let name: String
  var draining: @Sendable () -> Void = {}
  var closing: @Sendable () async -> Void = {}

  func drain() async { draining() }
  func stop() async { await closing() }
}

/// Delivery of messages. It starts last: if it started earlier, each failed start of the server would send messages.
final class DeliveryPart: Part {
  private struct Running {
    let threads: [FetchThread]
    let work: Completion
  }

  /// Time to record interrupted attempts, and time for the threads to end.
  private static let cutOffMillis: Int64 = 1_000

  let name = "delivery"
  private let worker: DeliveryWorker
  private let fetchers: DeliveryFetchers
  private let patienceMillis: Int64
  private let running = Mutex<Running?>(nil)

  /// - Parameter patienceMillis: time for attempts in progress when the server stops.
  init(_ worker: DeliveryWorker, _ fetchers: DeliveryFetchers, patienceMillis: Int64) {
    self.worker = worker
    self.fetchers = fetchers
    self.patienceMillis = patienceMillis
  }

  func start() throws {
    let threads = try ConfigurationError.naming(name) { try fetchers.startThreads() }
    running.withLock { [worker] in
      $0 = Running(threads: threads, work: Task.detached { await worker.run() }.completion)
    }
  }

  func drain() async { worker.stop() }

  /// Waits for deliveries in progress, then stops the delivery threads. The next start retries interrupted deliveries.
  /// Gives up a thread that libcurl blocks on a relay.
  func stop() async throws {
    worker.stop()
    guard let running = running.withLock(\.self) else { return }
    _ = await running.work.wait(millis: patienceMillis)
    for thread in running.threads { thread.stop() }
    let deadline = monotonicMillis() + DeliveryPart.cutOffMillis
    for end in [running.work] + running.threads.map(\.ended) {
      guard await end.wait(millis: max(0, deadline - monotonicMillis())) else {
        throw UnendedPart(description: "an attempt to send a message is still in progress")
      }
    }
  }
}

/// The limits of the HTTP endpoints.
extension Limits {
  var metricsEndpoint: HTTPSite.Limits {
    HTTPSite.Limits(
      connectionsMax: metricsConnectionsMax, connectionsPerAddressMax: metricsConnectionsPerAddressMax,
      requestBytesMax: metricsRequestBytesMax, requestMillis: metricsRequestMillis)
  }

  var keysEndpoint: HTTPSite.Limits {
    HTTPSite.Limits(
      connectionsMax: keysConnectionsMax, connectionsPerAddressMax: keysConnectionsPerAddressMax,
      requestBytesMax: keysRequestBytesMax, requestMillis: keysRequestMillis)
  }
}
