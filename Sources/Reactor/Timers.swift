/// A binary heap of timers. Entries are never removed early. The ticket of a call that was answered in time is stale
/// when its timer fires. That is cheaper than finding the entry at every response.
struct Timers {
  struct Entry {
    var atMillis: Int64
    var ticket: Ticket
    var kind: UInt32
  }

  private var heap: [Entry] = []

  mutating func add(_ entry: Entry) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      if heap[parent].atMillis <= heap[child].atMillis { break }
      heap.swapAt(parent, child)
      child = parent
    }
  }

  mutating func popDue(at nowMillis: Int64) -> Entry? {
    guard let first = heap.first, first.atMillis <= nowMillis else { return nil }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      let left = parent * 2 + 1
      guard left < heap.count else { break }
      let right = left + 1
      let least = right < heap.count && heap[right].atMillis < heap[left].atMillis ? right : left
      if heap[parent].atMillis <= heap[least].atMillis { break }
      heap.swapAt(parent, least)
      parent = least
    }
    return first
  }

  /// Returns how long epoll may sleep in milliseconds. -1: without limit; 0: not at all.
  func sleepMillis(from nowMillis: Int64) -> Int32 {
    guard let first = heap.first else { return -1 }
    return Int32(clamping: max(0, first.atMillis - nowMillis))
  }
}
