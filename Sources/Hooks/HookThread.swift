internal import Client
internal import Identity
internal import Reactor
internal import Synchronization

/// One call to a hook, ready to begin on a connection.
struct HookJob: Sendable {
  typealias End = @Sendable (Result<HookAnswer, HookFault>) -> Void
  /// The answer, or the status of a failed call.
  typealias Outcome = Result<Result<HookAnswer, HookFault>, CallStatus>
  let path: String
  let order: HookOrder
  let end: End
  /// Begins the call. The completion runs once.
  let begin: @Sendable (Connection, CallHead, @escaping (Outcome) -> Void) -> Void
}

/// Jobs on their way to the thread of a hook.
final class HookInbox: Sendable {
  private struct State {
    var jobs: [HookJob] = []
    var isClosed = false
    var remote: EventLoop.Remote?
  }

  private let state = Mutex(State())

  func use(_ remote: EventLoop.Remote) { state.withLock { $0.remote = remote } }

  func put(_ job: HookJob) { change { $0.jobs.append(job) } }

  func close() { change { $0.isClosed = true } }

  /// Wakes the thread, for example when a name is resolved.
  func wake() { change { _ in } }

  func take() -> (jobs: [HookJob], isClosed: Bool) {
    state.withLock { state in
      defer { state.jobs = [] }
      return (state.jobs, state.isClosed)
    }
  }

  private func change(_ edit: (inout State) -> Void) {
    let remote = state.withLock { state in
      edit(&state)
      return state.remote
    }
    remote?.post { _ in }
  }
}

struct HookThreadError: Error, CustomStringConvertible {
  let description: String
}

/// A connection to a hook, and what its calls show of it.
private final class HookConnection {
  let connection: Connection
  var callCount = 0
  /// Whether no more calls begin on it. It closes with its last call.
  var isRetired = false
  private var arrivals = 0
  /// When the first call began after the last arrival.
  private var silentSinceMillis: Int64 = 0

  init(_ connection: Connection) { self.connection = connection }

  func begins() {
    callCount += 1
    guard arrivals != connection.arrivals || silentSinceMillis == 0 else { return }
    arrivals = connection.arrivals
    silentSinceMillis = monotonicMillis()
  }

  /// Whether calls have waited this long and nothing arrived.
  func isSilent(forMillis millis: Int64) -> Bool {
    arrivals == connection.arrivals && monotonicMillis() - silentSinceMillis >= millis
  }
}

/// The thread of one hook: an event loop with one connection, on which all calls run concurrently.
final class HookThread {
  private let target: HookClient.Target
  private let inbox: HookInbox
  private let loop: EventLoop
  private var current: HookConnection?
  private var endpoint: Endpoint?
  /// The result of a name look-up on a thread of its own, because it blocks.
  private let resolved = Resolution()
  private var isResolving = false
  /// Calls that wait for the look-up.
  private var waiting: [HookJob] = []
  /// Nearly the time limit, because a call begins some milliseconds after its limit has begun.
  private var silentMillis: Int64 { target.timeoutMillis * 9 / 10 }

  init(_ target: HookClient.Target, _ inbox: HookInbox) throws(HookThreadError) {
    self.target = target
    self.inbox = inbox
    do { loop = try EventLoop() } catch { throw HookThreadError(description: "hook \(target.name): \(error)") }
    inbox.use(loop.remote)
  }

  func run() {
    loop.everyTurn = { [unowned self] in
      turn()
      return false
    }
    loop.run()
    current?.connection.close()
  }

  private func turn() {
    if isResolving, let result = resolved.take() { settle(result) }
    let (jobs, isClosed) = inbox.take()
    for job in jobs { start(job, mayRetry: true) }
    // The client that closes the inbox has no calls in progress.
    if isClosed { loop.stop() }
  }

  private func start(_ job: HookJob, mayRetry: Bool) {
    let leftMillis = job.order.endMillis - monotonicMillis()
    guard leftMillis > 0 else { return job.end(.failure(job.order.lateness)) }
    guard let endpoint else { return wait(job, leftMillis) }
    let metadata = job.order.traceParent.map { [(name: "traceparent", value: $0)] } ?? []
    let head: CallHead
    do {
      head = try CallHead(path: job.path, endpoint, CallOptions(timeoutMillis: leftMillis, metadata: metadata))
    } catch {
      return job.end(.failure(.unavailable("its request has invalid metadata")))
    }
    let isReused = current != nil
    let used = current ?? connect(to: endpoint)
    used.begins()
    job.begin(used.connection, head) { [unowned self] result in
      used.callCount -= 1
      if used.isRetired, used.callCount == 0 { used.connection.close() }
      switch result {
      case .success(let answer): job.end(answer)
      case .failure(let status):
        // An idle connection may have been closed. The hook has not seen the call then.
        if mayRetry, isReused, status.code == .unavailable, status.wasNotProcessed {
          return start(job, mayRetry: false)
        }
        if status.code == .deadlineExceeded, used.isSilent(forMillis: silentMillis) { retire(used) }
        job.end(.failure(status.fault(job.order)))
      }
    }
  }

  private func connect(to endpoint: Endpoint) -> HookConnection {
    let made = HookConnection(Connection(to: endpoint, on: loop))
    var wasOpen = false
    made.connection.onOpen = { wasOpen = true }
    made.connection.onUnusable = { [unowned self, unowned made] _ in
      if current === made { current = nil }
      // The hook may have moved: resolve its name again, and read its files again.
      if !wasOpen { forget(endpoint) }
    }
    current = made
    return made
  }

  /// Begins no more calls on a connection that is silent. The hook may be gone although a proxy, or the kernel of its
  /// machine, still acknowledges what the server sends. Calls in progress continue: the hook may only be slow.
  private func retire(_ silent: HookConnection) {
    guard !silent.isRetired else { return }
    silent.isRetired = true
    if current === silent { current = nil }
    forget(silent.connection.endpoint)
    if silent.callCount == 0 { silent.connection.close() }
  }

  private func forget(_ unusable: Endpoint) {
    if endpoint === unusable { endpoint = nil }
  }

  // MARK: The name of the hook

  private func wait(_ job: HookJob, _ leftMillis: Int64) {
    waiting.append(job)
    loop.after(millis: leftMillis) { [unowned self] in endLate() }
    guard !isResolving else { return }
    isResolving = true
    let (settings, resolved, inbox) = (target.endpoint, resolved, inbox)
    do {
      try tryStartThread(named: "hook-resolve") {
        resolved.put(Result { try Endpoint(settings) })
        inbox.wake()
      }
    } catch {
      settle(.failure(error))
    }
  }

  private func endLate() {
    let now = monotonicMillis()
    let late = waiting.filter { $0.order.endMillis <= now }
    waiting.removeAll { $0.order.endMillis <= now }
    for job in late { job.end(.failure(job.order.lateness)) }
    // The loop reads its clock once in each turn, so the timer may fire some milliseconds early.
    if let next = waiting.map(\.order.endMillis).min() {
      loop.after(millis: max(1, next - now)) { [unowned self] in endLate() }
    }
  }

  private func settle(_ result: Result<Endpoint, any Error>) {
    isResolving = false
    let jobs = waiting
    waiting = []
    switch result {
    case .success(let found):
      endpoint = found
      for job in jobs { start(job, mayRetry: true) }
    case .failure(let error): for job in jobs { job.end(.failure(.unavailable("\(error)"))) }
    }
  }
}

/// A result on its way from one thread to another.
private final class Resolution: Sendable {
  private let result = Mutex<Result<Endpoint, any Error>?>(nil)

  func put(_ result: Result<Endpoint, any Error>) { self.result.withLock { $0 = result } }

  func take() -> Result<Endpoint, any Error>? {
    result.withLock { result in
      defer { result = nil }
      return result
    }
  }
}

extension CallStatus {
  /// Names the status alone: its text is the hook's.
  fileprivate func fault(_ order: HookOrder) -> HookFault {
    code == .deadlineExceeded ? order.lateness : .unavailable(code.name)
  }
}
