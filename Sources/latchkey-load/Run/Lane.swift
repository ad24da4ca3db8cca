/// A place for one call in flight: an iteration at a time goes through it, call by call.
final class Lane {
  let route: Route
  let reply = Reply()
  private(set) var iteration: Iteration?
  private(set) var call = Call.health
  /// Of the call under way.
  private(set) var resends = 0
  /// When the iteration was to start.
  private(set) var begunNanos: Int64 = 0
  /// When the call under way was to start.
  var intendedNanos: Int64 = 0
  /// When the answer at hand came.
  private(set) var nowNanos: Int64 = 0

  init(_ route: Route) { self.route = route }

  func begin(_ iteration: Iteration, intendedNanos: Int64) {
    self.iteration = iteration
    begunNanos = intendedNanos
    self.intendedNanos = intendedNanos
  }

  func next(_ answer: Answer?, nowNanos: Int64) -> Step? {
    self.nowNanos = nowNanos
    return iteration?.work.next(answer, nowNanos: nowNanos)
  }

  func send(_ call: Call) {
    self.call = call
    resends = 0
    route.send(call, reply)
  }

  func resend() {
    resends += 1
    route.send(call, reply)
  }

  func end() -> Iteration? {
    defer { iteration = nil }
    route.endIteration()
    return iteration
  }
}

/// The lanes that are free; the one that has been free for longest goes first, so that work is spread over all.
struct LaneQueue {
  private var lanes: [Lane] = []
  private var head = 0

  var isEmpty: Bool { head == lanes.count }

  mutating func append(_ lane: Lane) { lanes.append(lane) }

  /// The first that can begin an iteration.
  mutating func takeReady() -> Lane? {
    for _ in head..<lanes.count {
      let lane = takeFirst()
      if lane.route.isReady { return lane }
      lanes.append(lane)
    }
    return nil
  }

  private mutating func takeFirst() -> Lane {
    defer {
      head += 1
      // Half of the array is in the past.
      if head > 64, head * 2 > lanes.count {
        lanes.removeFirst(head)
        head = 0
      }
    }
    return lanes[head]
  }
}
