internal import Client
internal import Reactor
internal import Synchronization

/// Why a run could not begin or had to end early.
struct RunError: Error, CustomStringConvertible {
  var description: String
}

/// Drives iterations over many connections on one thread: no task and no thread a call.
///
/// A lane is a place for one call in flight. The pace says when an iteration may start, a free lane takes it, and the
/// iteration's own work says what it calls; the recorder hears of every answer.
final class Runner {
  /// How often a call that the server cannot have begun is sent again.
  private static let resendsMax = 20
  private static let resendMillis: Int64 = 100
  /// While every connection is being made anew.
  private static let lookAgainNanos: Int64 = 10_000_000

  private let loop: EventLoop
  private let source: any IterationSource
  private let begin: (_ startNanos: Int64) -> (Pace, Recorder)
  private var routes: [Route] = []
  /// Those in flight are known to their stubs by address only.
  private var lanes: [Lane] = []
  private var free = LaneQueue()
  private var inFlight = 0
  private var unopened: Int
  private var clock: (pace: Pace, recorder: Recorder)?
  /// Nothing starts any more, whatever the pace says.
  private var isExhausted = false
  private var stuck: String?
  private var failure: RunError?
  private var endedNanos: Int64 = 0
  private let interruption = Interruption()
  /// Called each second.
  var onProgress: (Recorder, _ inFlight: Int, _ backlog: Int) -> Void = { _, _, _ in }

  /// - Parameter begin: is told when the connections are open, which is when the run starts.
  init(
    to target: Target, _ kind: Route.Kind, _ source: any IterationSource,
    begin: @escaping (_ startNanos: Int64) -> (Pace, Recorder)
  ) throws {
    loop = try EventLoop()
    self.source = source
    self.begin = begin
    let isLasting = kind == .lasting
    unopened = isLasting ? target.connections : 0
    // What is opened by an iteration is for that one alone.
    let routeCount = isLasting ? target.connections : target.placeCount
    for _ in 0..<routeCount { routes.append(Route(kind, to: target, on: loop)) }
    // One connection after the other, so that a few iterations at a time are spread over all of them.
    for _ in 0..<target.placeCount / routeCount { lanes += routes.map { lane(on: $0) } }
    for lane in lanes { free.append(lane) }
  }

  /// How another thread ends the run early: what is in flight is still answered.
  var interrupt: @Sendable () -> Void {
    let (remote, interruption) = (loop.remote, interruption)
    return {
      interruption.isAsked.store(true, ordering: .relaxed)
      // Only to wake the loop, which looks in each turn.
      remote.post { _ in }
    }
  }

  /// Runs to the end on the calling thread.
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
    guard let (pace, recorder) = clock else { throw RunError(description: "interrupted before it began") }
    recorder.finish()
    let measuredNanos = min(endedNanos, pace.period.endNanos) - pace.period.measuredFromNanos
    return Outcome(
      recorder: recorder, measuredSeconds: max(0.001, Double(measuredNanos) / 1e9),
      neverStarted: pace.backlog(atNanos: endedNanos), reconnections: routes.reduce(0) { $0 + $1.reconnections },
      stuck: stuck)
  }

  struct Outcome {
    var recorder: Recorder
    /// Less than was asked for where the run ended early.
    var measuredSeconds: Double
    /// Arrivals of an open loop that found no place until the end.
    var neverStarted: Int
    var reconnections: Int
    /// Why it could not go on.
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

  /// Starts all that may start now, and sets the alarm for what comes next. In each turn.
  private func fill() {
    if interruption.isAsked.load(ordering: .relaxed) { isExhausted = true }
    guard clock != nil else { return isExhausted ? end() : () }
    var now = monotonicNanos()
    var earliestNanos = now + Runner.lookAgainNanos
    while !isExhausted, let lane = free.takeReady() {
      if let intended = clock?.pace.next(atNanos: now) { start(lane, intendedNanos: intended) }
      now = monotonicNanos()
      guard lane.iteration == nil else { continue }
      free.append(lane)
      earliestNanos = now
      break
    }
    guard let wake = isExhausted ? nil : clock?.pace.wakeNanos(atNanos: now) else {
      if inFlight == 0 { end() }
      return
    }
    // Without a free lane it is an answer that wakes, and without an open connection it is too early.
    if !free.isEmpty { loop.wake(atNanos: max(wake, earliestNanos)) }
  }

  private func start(_ lane: Lane, intendedNanos: Int64) {
    switch source.next() {
    case .iteration(let iteration):
      inFlight += 1
      lane.begin(iteration, intendedNanos: intendedNanos)
      step(lane, nil)
    case .none: isExhausted = true
    case .stuck(let why):
      isExhausted = true
      stuck = why
    }
  }

  private func step(_ lane: Lane, _ answer: Answer?) {
    guard let recorder = clock?.recorder, let next = lane.next(answer, nowNanos: monotonicNanos()) else { return }
    if answer != nil {
      let method = lane.call.method.rawValue
      if case .wrong(let why) = next {
        recorder.failed(call: method, .wrong(why), atNanos: lane.nowNanos)
        return finish(lane, .wrong(why))
      }
      recorder.answered(
        call: method, intendedNanos: lane.intendedNanos, begunNanos: lane.begunNanos, atNanos: lane.nowNanos)
    }
    guard case .call(let call) = next else { return finish(lane, nil) }
    // What follows a call is due when that was answered.
    if answer != nil { lane.intendedNanos = lane.nowNanos }
    lane.send(call)
  }

  private func failed(_ lane: Lane, _ status: CallStatus) {
    if let reason = lane.call.refusal, status.reason == reason { return step(lane, .refused(reason)) }
    if status.wasNotProcessed, lane.resends < Runner.resendsMax, lane.route.kind == .lasting {
      // A connection may have to be made anew before; the wait is in the latency.
      return loop.after(millis: Runner.resendMillis) { lane.resend() }
    }
    let flaw = Flaw(status)
    clock?.recorder.failed(call: lane.call.method.rawValue, flaw, atNanos: monotonicNanos())
    finish(lane, flaw)
  }

  private func finish(_ lane: Lane, _ flaw: Flaw?) {
    guard let iteration = lane.end() else { return }
    inFlight -= 1
    source.ended(iteration, failed: flaw != nil)
    if let flaw {
      clock?.recorder.failed(iteration: iteration.row, flaw)
    } else {
      clock?.recorder.completed(iteration: iteration.row, begunNanos: lane.begunNanos, atNanos: lane.nowNanos)
    }
    free.append(lane)
  }

  private func lane(on route: Route) -> Lane {
    let lane = Lane(route)
    lane.reply.receive = { [unowned self, unowned lane] result in
      switch result {
      case .success(let answer): step(lane, answer)
      case .failure(let status): failed(lane, status)
      }
    }
    return lane
  }
}

/// Set from any thread, looked at in each turn.
private final class Interruption: Sendable {
  let isAsked = Atomic<Bool>(false)
}

extension Flaw {
  /// A server that refuses says why; where nobody says it, the call was lost on the way.
  fileprivate init(_ status: CallStatus) {
    let isOnTheWay = [.unavailable, .deadlineExceeded, .cancelled, .internal, .unknown].contains(status.code)
    if status.reason.isEmpty && isOnTheWay {
      self = .lost("\(status.code.name) \(status.message)")
    } else {
      self = .refused(status: status.code.name, reason: status.reason)
    }
  }
}
