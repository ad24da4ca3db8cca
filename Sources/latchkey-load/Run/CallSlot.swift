/// A slot for one call in flight. It runs one iteration at a time, one call after the other.
final class CallSlot {
  let route: Route
  let reply = Reply()
  private(set) var iteration: Iteration?
  private(set) var call = Call.health
  /// The number of times that the current call was sent again.
  private(set) var resends = 0
  /// The intended start of the iteration.
  private(set) var begunNanos: Int64 = 0
  /// The intended start of the current call.
  var intendedNanos: Int64 = 0
  /// The time of the latest response.
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

/// A queue of free slots. The longest idle slot is first, which spreads work over all slots.
struct SlotQueue {
  private var slots: [CallSlot] = []
  private var head = 0

  var isEmpty: Bool { head == slots.count }

  mutating func append(_ slot: CallSlot) { slots.append(slot) }

  /// Takes the first slot that can begin an iteration. Returns nil if there is none.
  mutating func takeReady() -> CallSlot? {
    for _ in head..<slots.count {
      let slot = takeFirst()
      if slot.route.isReady { return slot }
      slots.append(slot)
    }
    return nil
  }

  private mutating func takeFirst() -> CallSlot {
    defer {
      head += 1
      // Remove taken slots when they make up half of the array.
      if head > 64, head * 2 > slots.count {
        slots.removeFirst(head)
        head = 0
      }
    }
    return slots[head]
  }
}
