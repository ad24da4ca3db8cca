/// The calls of one worker whose task has yet to end. One whose client goes meanwhile stays until then: what came of it
/// belongs in the log, whether or not anybody hears it.
struct RunningCalls {
  private var slots: [(call: ServerCall, connection: Connection)?] = []
  private var freeSlots: [Int] = []

  var isEmpty: Bool { freeSlots.count == slots.count }

  /// Returns the number of the task.
  mutating func add(_ call: ServerCall, on connection: Connection) -> Int {
    guard let slot = freeSlots.popLast() else {
      slots.append((call, connection))
      return slots.count - 1
    }
    slots[slot] = (call, connection)
    return slot
  }

  /// Once for each that was added: a task ends with one letter.
  mutating func remove(_ task: Int) -> (call: ServerCall, connection: Connection) {
    guard let running = slots[task] else { preconditionFailure("a task ended twice") }
    slots[task] = nil
    freeSlots.append(task)
    return running
  }
}
