internal import Synchronization

/// Counters that one thread writes and every thread may read.
///
/// With a single writer, an addition is a load and a store without a locked instruction. The counters start on their
/// own cache line, so writes of other threads do not slow them.
@safe package final class Tally: Sendable {
  package let count: Int
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>

  package init(count: Int) {
    // Processors fetch 64-byte cache lines in pairs.
    let lineBytes = 128
    let bytes = (count * MemoryLayout<Atomic<Int>>.stride + lineBytes - 1) / lineBytes * lineBytes
    let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: lineBytes)
    self.count = count
    unsafe cells = memory.bindMemory(to: Atomic<Int>.self, capacity: count)
    for index in 0..<count { unsafe (cells + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe cells.deinitialize(count: count)
    unsafe UnsafeMutableRawPointer(cells).deallocate()
  }

  /// Adds to a counter. Only the writing thread may call it.
  package func add(_ amount: Int, at index: Int) {
    precondition(index >= 0 && index < count, "the counter index is out of range")
    unsafe cells[index].store(cells[index].load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// Returns the value of a counter. Any thread may call it.
  package func read(_ index: Int) -> Int {
    precondition(index >= 0 && index < count, "the counter index is out of range")
    return unsafe cells[index].load(ordering: .relaxed)
  }
}
