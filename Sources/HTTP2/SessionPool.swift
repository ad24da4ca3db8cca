internal import CSessionMemory

/// The memory of all sessions of one thread. Created and used on that thread only.
@safe package final class SessionPool {
  private let handle: OpaquePointer

  /// Returns nil if out of memory.
  package init?() {
    guard let handle = unsafe lk_pool_new() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lk_pool_free(handle) }

  /// The memory functions for nghttp2.
  var functions: nghttp2_mem { unsafe lk_pool_functions(handle) }

  /// Number of blocks that sessions hold.
  var liveBlocks: Int { unsafe lk_pool_live(handle) }
  /// Number of free small blocks of the size class for this many bytes.
  func spareBlocks(ofBytes bytes: Int) -> Int { unsafe lk_pool_spare_blocks(handle, bytes) }
  /// Number of free large blocks.
  var spareRuns: Int { unsafe lk_pool_spare_runs(handle) }
}
