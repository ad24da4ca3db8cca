internal import CSessionMemory

/// The memory of all sessions of one thread; made and used on that thread.
@safe package final class SessionPool {
  private let handle: OpaquePointer

  /// Returns nil without memory.
  package init?() {
    guard let handle = unsafe lk_pool_new() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lk_pool_free(handle) }

  /// What nghttp2 calls for memory.
  var functions: nghttp2_mem { unsafe lk_pool_functions(handle) }

  /// Blocks that sessions hold.
  var liveBlocks: Int { unsafe lk_pool_live(handle) }
  /// Small blocks that no session holds, of the size for this many bytes.
  func spareBlocks(ofBytes bytes: Int) -> Int { unsafe lk_pool_spare_blocks(handle, bytes) }
  /// Large blocks that no session holds.
  var spareRuns: Int { unsafe lk_pool_spare_runs(handle) }
}
