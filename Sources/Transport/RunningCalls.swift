/// The calls of one worker with a running task. If the client disconnects, the call stays until its task ends, so that
/// the log states its outcome.
struct RunningCalls {
  private var slots: [(call: ServerCall, connection: Connection)?] = []
  private var freeSlots: [Int] = []

  var isEmpty: Bool { freeSlots.count == slots.count }

  /// Adds a call; returns the number of its task.
  mutating func add(_ call: ServerCall, on connection: Connection) -> Int {
    guard let slot = freeSlots.popLast() else {
      slots.append((call, connection))
      return slots.count - 1
    }
    slots[slot] = (call, connection)
    return slot
  }

  /// Removes the call of a task. Each task ends with exactly one command.
  mutating func remove(_ task: Int) -> (call: ServerCall, connection: Connection) {
    guard let running = slots[task] else { preconditionFailure("a task ended twice") }
    slots[task] = nil
    freeSlots.append(task)
    return running
  }
}
