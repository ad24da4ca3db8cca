internal import CNghttp2

/// Memory of all sessions of a thread: for the frames that they are sending, and for the small things of each call.
/// Made and used on one thread.
@safe package final class SessionPool {
  fileprivate let handle: UnsafeMutablePointer<lk_session_pool>

  /// Fails only where memory does.
  package init?() {
    guard let handle = unsafe lk_session_pool_new() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lk_session_pool_free(handle) }

  /// Buffers that no session has.
  var spareBuffers: Int { unsafe Int(handle.pointee.buffers.pointee.spare_count) }

  /// Small blocks that are not in use, of the size that holds so many bytes.
  func spareBlocks(ofBytes bytes: Int) -> Int {
    let size = (bytes - 1) / LK_BLOCK_STEP
    return unsafe withUnsafeBytes(of: &handle.pointee.blocks.spare_count) { counts in
      unsafe Int(counts.load(fromByteOffset: size * MemoryLayout<Int32>.stride, as: Int32.self))
    }
  }
}

/// What nghttp2 takes the memory of one session from; outlives it.
@safe final class SessionMemory {
  let handle: UnsafeMutablePointer<lk_session_memory>
  private let pool: SessionPool?

  init(_ pool: SessionPool?) {
    self.pool = pool
    unsafe handle = .allocate(capacity: 1)
    unsafe handle.initialize(to: lk_session_memory_begin(pool?.handle))
  }

  deinit {
    unsafe lk_session_memory_end(handle)
    unsafe handle.deallocate()
  }
}
