internal import Synchronization

/// Counters that one thread writes and every thread may read.
///
/// Because only one thread writes, to add is a load and a store, without a locked instruction; because they begin on
/// a cache line of their own, no other thread's writing slows it.
@safe package final class Tally: Sendable {
  package let count: Int
  private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<Int>>

  package init(count: Int) {
    // Processors fetch lines of 64 bytes in pairs.
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

  /// By the one thread that writes.
  package func add(_ amount: Int, at index: Int) {
    precondition(index >= 0 && index < count, "there is no such counter")
    unsafe cells[index].store(cells[index].load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// From any thread.
  package func read(_ index: Int) -> Int {
    precondition(index >= 0 && index < count, "there is no such counter")
    return unsafe cells[index].load(ordering: .relaxed)
  }
}
