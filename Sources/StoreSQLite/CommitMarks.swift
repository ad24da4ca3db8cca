import Glibc
import Synchronization

/// Records which commit last changed what, so that readers know whether a cached value is current.
///
/// Only this process changes the file, because the lock file excludes others. Before it commits, the writer marks what
/// its changes touch. A reader notes the last commit before it opens a snapshot, and caches values with that number. A
/// cached value is current while its number is not below the mark. Keys that share 16 bits of a hash share a mark,
/// which costs their neighbours an extra read of the file.
@safe final class CommitMarks: Sendable {
  private static let count = 1 << 16

  private nonisolated(unsafe) let marks: UnsafeMutablePointer<Atomic<UInt64>>
  /// The number of the last commit that readers may see.
  private let committed = Atomic<UInt64>(1)

  init() { unsafe marks = zeroedWords(CommitMarks.count) }

  deinit { unsafe free(marks) }

  /// The last commit. Read it before you open a snapshot, which is then at least as new.
  var commit: UInt64 { committed.load(ordering: .acquiring) }

  /// Returns the commit that last touched, or is about to touch, the keys with this hash.
  func last(_ hash: UInt64) -> UInt64 { unsafe mark(hash).pointee.load(ordering: .acquiring) }

  /// Marks a key. The writer calls it before the commit of a change that may touch the key, whether or not the commit
  /// succeeds.
  func touch(_ hash: UInt64) {
    unsafe mark(hash).pointee.store(committed.load(ordering: .relaxed) + 1, ordering: .releasing)
  }

  /// Advances the commit number. The writer calls it after a commit, before any caller receives a result.
  func advance() { committed.add(1, ordering: .releasing) }

  private func mark(_ hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> { unsafe marks + Int(hash >> 48) }
}

/// Returns zeroed memory, which the kernel allocates as it is used.
func zeroedWords(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
  guard let memory = unsafe calloc(count, 8) else { fatalError("no memory for the caches of the store") }
  return unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: count)
}
