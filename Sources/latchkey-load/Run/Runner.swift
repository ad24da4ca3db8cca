internal import Client
internal import Reactor
internal import Synchronization

/// An error that prevents a run or ends it early.
struct RunError: Error, CustomStringConvertible {
  var description: String
}

/// The runner of iterations over many connections on one thread. A call needs no task or thread of its own.
///
/// The pace decides when an iteration starts, and a free slot runs it. The steps of the iteration decide which calls
/// to make, and the recorder counts the results.
final class Runner {
  /// How often the runner sends a call again if the server cannot have begun it.
  private static let resendsMax = 20
  private static let resendMillis: Int64 = 100
  /// The interval between checks while all connections reconnect.
  private static let lookAgainNanos: Int64 = 10_000_000

  private let loop: EventLoop
  private let source: any IterationSource
  private let begin: (_ startNanos: Int64) -> (Pace, Recorder)
  private var routes: [Route] = []
  /// All slots, also those in flight. Their completions do not retain them.
  private var slots: [CallSlot] = []
  /// The free slots. The longest idle slot is first, which spreads work over all slots.
  private var free: ArraySlice<CallSlot> = []
  private var inFlight = 0
  private var unopened: Int
  private var clock: (pace: Pace, recorder: Recorder)?
  /// Whether no further iterations start, even if the pace has more.
  private var isExhausted = false
  private var stuck: String?
  private var failure: RunError?
  private var endedNanos: Int64 = 0
  private let interruption = Interruption()
  /// Called once a second.
  var onProgress: (Recorder, _ inFlight: Int, _ backlog: Int) -> Void = { _, _, _ in }

  /// Creates a runner.
  ///
  /// - Parameter begin: called at the start of the run, when all connections are open.
  init(
    to target: Target, _ kind: Route.Kind, _ source: any IterationSource,
    begin: @escaping (_ startNanos: Int64) -> (Pace, Recorder)
  ) throws {
    loop = try EventLoop()
    self.source = source
    self.begin = begin
    let isLasting = kind == .lasting
    unopened = isLasting ? target.connections : 0
    // A momentary connection belongs to one iteration, so each slot needs its own route.
    let routeCount = isLasting ? target.connections : target.placeCount
    for _ in 0..<routeCount { routes.append(Route(kind, to: target, on: loop)) }
    // Alternate between connections, so that even a few concurrent iterations use all of them.
    for _ in 0..<target.placeCount / routeCount { slots += routes.map { CallSlot($0, self) } }
    free = slots[...]
  }

  /// A function for other threads that ends the run early. Calls in flight still finish.
  var interrupt: @Sendable () -> Void {
    let (remote, interruption) = (loop.remote, interruption)
    return {
      interruption.isAsked.store(true, ordering: .relaxed)
      // Wake the loop, which checks the flag in each turn.
      remote.post { _ in }
    }
  }

  /// Runs on the calling thread until the run ends.
  func run() throws -> Outcome {
    for route in routes where route.kind == .lasting {
      route.onOpen = { [unowned self] in opened() }
      route.onRefused = { [unowned self] why in end(RunError(description: why)) }
      route.open()
    }
    if unopened == 0 { start() }
    loop.everyTurn = { [unowned self] in
      fill()
      return false
    }
    loop.run()
    loop.everyTurn = nil
    if let failure { throw failure }
    guard let (pace, recorder) = clock else { throw RunError(description: "interrupted before the run began") }
    recorder.finish()
    let measuredNanos = min(endedNanos, pace.period.endNanos) - pace.period.measuredFromNanos
    return Outcome(
      recorder: recorder, measuredSeconds: max(0.001, Double(measuredNanos) / 1e9),
      neverStarted: pace.backlog(atNanos: endedNanos), reconnections: routes.reduce(0) { $0 + $1.reconnections },
      stuck: stuck)
  }

  struct Outcome {
    var recorder: Recorder
    /// The duration of the measurement. Shorter than requested if the run ended early.
    var measuredSeconds: Double
    /// The number of arrivals of an open loop that found no free slot until the end.
    var neverStarted: Int
    var reconnections: Int
    /// The reason why the run ended early; nil if it did not.
    var stuck: String?
  }

  // MARK: Beginning and end

  private func opened() {
    guard clock == nil else { return }
    unopened -= 1
    if unopened == 0 { start() }
  }

  private func start() {
    clock = begin(monotonicNanos())
    tick()
  }

  private func tick() {
    loop.after(millis: 1_000) { [self] in
      guard let (pace, recorder) = clock else { return }
      let now = monotonicNanos()
      recorder.advance(toNanos: now)
      onProgress(recorder, inFlight, pace.backlog(atNanos: now))
      tick()
    }
  }

  private func end(_ failure: RunError? = nil) {
    self.failure = self.failure ?? failure
    endedNanos = monotonicNanos()
    for route in routes { route.close() }
    loop.stop()
  }

  // MARK: Iterations

  /// Starts all iterations that are due, and sets the alarm for the next one. Runs in each turn.
  private func fill() {
    if interruption.isAsked.load(ordering: .relaxed) { isExhausted = true }
    guard clock != nil else { return isExhausted ? end() : () }
    var now = monotonicNanos()
    var earliestNanos = now + Runner.lookAgainNanos
    while !isExhausted, let slot = takeReady() {
      if let intended = clock?.pace.next(atNanos: now) { start(slot, intendedNanos: intended) }
      now = monotonicNanos()
      guard slot.iteration == nil else { continue }
      free.append(slot)
      earliestNanos = now
      break
    }
    guard let wake = isExhausted ? nil : clock?.pace.wakeNanos(atNanos: now) else {
      if inFlight == 0 { end() }
      return
    }
    // Without a free slot, the next response wakes the loop. Without an open connection, check later.
    if !free.isEmpty { loop.wake(atNanos: max(wake, earliestNanos)) }
  }

  /// Takes the first free slot that can begin an iteration.
  private func takeReady() -> CallSlot? {
    for _ in free.indices {
      guard let slot = free.popFirst() else { return nil }
      if slot.route.isReady { return slot }
      free.append(slot)
    }
    return nil
  }

  private func start(_ slot: CallSlot, intendedNanos: Int64) {
    do {
      guard let iteration = try source.next() else { return isExhausted = true }
      inFlight += 1
      slot.begin(iteration, intendedNanos: intendedNanos)
      proceed(slot, iteration.first)
    } catch {
      isExhausted = true
      stuck = error.description
    }
  }

  private func proceed(_ slot: CallSlot, _ next: Step) {
    guard case .call(let call) = next else { return finish(slot, nil) }
    slot.send(call)
  }

  /// Receives the step that follows a response.
  func answered(_ slot: CallSlot, _ next: Step) {
    guard let recorder = clock?.recorder, let call = slot.call else { return }
    if case .wrong(let why) = next { return failed(slot, call, .wrong(why)) }
    recorder.answered(
      call: call.row, intendedNanos: slot.intendedNanos, begunNanos: slot.begunNanos, atNanos: slot.nowNanos)
    proceed(slot, next)
  }

  /// Receives the status of a call without a response.
  func failed(_ slot: CallSlot, _ status: CallStatus) {
    guard let call = slot.call else { return }
    if let reason = call.rejection, status.reason == reason { return answered(slot, .done) }
    if status.wasNotProcessed, slot.resends < Runner.resendsMax, slot.route.kind == .lasting {
      // The route may have to reconnect first. The latency includes this delay.
      return loop.after(millis: Runner.resendMillis) { slot.resend() }
    }
    failed(slot, call, Flaw(status))
  }

  private func failed(_ slot: CallSlot, _ call: any Call, _ flaw: Flaw) {
    clock?.recorder.failed(call: call.row, flaw, atNanos: slot.nowNanos)
    finish(slot, flaw)
  }

  private func finish(_ slot: CallSlot, _ flaw: Flaw?) {
    guard let iteration = slot.end() else { return }
    inFlight -= 1
    source.ended(iteration, failed: flaw != nil)
    if let flaw {
      clock?.recorder.failed(iteration: iteration.row, flaw)
    } else {
      clock?.recorder.completed(iteration: iteration.row, begunNanos: slot.begunNanos, atNanos: slot.nowNanos)
    }
    free.append(slot)
  }
}

/// A flag that any thread may set and the runner checks in each turn.
private final class Interruption: Sendable {
  let isAsked = Atomic<Bool>(false)
}

extension Flaw {
  /// Classifies a failed call. A status without a reason, and with a code for transport faults, means a lost call.
  fileprivate init(_ status: CallStatus) {
    let isOnTheWay = [.unavailable, .deadlineExceeded, .cancelled, .internal, .unknown].contains(status.code)
    if status.reason.isEmpty && isOnTheWay {
      self = .lost("\(status.code.name) \(status.message)")
    } else {
      self = .refused(status: status.code.name, reason: status.reason)
    }
  }
}
