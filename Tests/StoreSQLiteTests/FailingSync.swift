import Glibc
import Synchronization

/// The behavior of a sync. The test program exports its own `fdatasync` (Package.swift), which replaces the C library's
/// for SQLite.
enum Disk {
  static let syncs = Atomic<Int>(0)
  static let failsToSync = Atomic<Bool>(false)
}

@c(fdatasync)
func fdatasync(_ descriptor: Int32) -> Int32 {
  if Disk.failsToSync.load(ordering: .relaxed) {
    errno = EIO
    return -1
  }
  Disk.syncs.add(1, ordering: .relaxed)
  return fsync(descriptor)
}
