import Glibc
import Synchronization

/// Which commit last changed what: by this, what is kept in memory beside the file is known to be true still.
///
/// Whoever changes the file is in this process (the lock file keeps others out). The writer marks, before it commits,
/// what its changes touch. Whoever keeps something asks for the last commit before it opens the snapshot that it reads,
/// and believes it while it is not older than the mark. Marks are shared by what has 16 bits of a hash in common, which
/// costs a neighbour a look into the file.
@safe final class CommitMarks: Sendable {
  private static let count = 1 << 16

  private nonisolated(unsafe) let marks: UnsafeMutablePointer<Atomic<UInt64>>
  /// The number of the last commit that readers may see.
  private let committed = Atomic<UInt64>(1)

  init() { unsafe marks = zeroedWords(CommitMarks.count) }

  deinit { unsafe free(marks) }

  /// To be asked before a snapshot is opened, which is then at least as new.
  var commit: UInt64 { committed.load(ordering: .acquiring) }

  /// The commit that last touched what has this hash, or is about to.
  func last(_ hash: UInt64) -> UInt64 { unsafe mark(hash).pointee.load(ordering: .acquiring) }

  /// The writer's, before the commit of a change that may touch it, whether or not the commit succeeds.
  func touch(_ hash: UInt64) {
    unsafe mark(hash).pointee.store(committed.load(ordering: .relaxed) + 1, ordering: .releasing)
  }

  /// The writer's, after a commit, before anyone is told of it.
  func advance() { committed.add(1, ordering: .releasing) }

  private func mark(_ hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> { unsafe marks + Int(hash >> 48) }
}

/// Memory that is taken as it is used.
func zeroedWords(_ count: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
  guard let memory = unsafe calloc(count, 8) else { fatalError("no memory for the caches of the store") }
  return unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: count)
}
