internal import CNghttp2

/// Memory of all sessions of a thread: for the frames that they are sending, the tables of their streams, and the small
/// things of each call.
/// Made and used on one thread.
@safe package final class SessionPool {
  fileprivate let handle: UnsafeMutablePointer<lk_session_pool>

  /// Fails only where memory does.
  package init?() {
    guard let handle = unsafe lk_session_pool_new() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lk_session_pool_free(handle) }

  /// Frame buffers and tables of streams that no session has.
  var spareFrames: Int { unsafe Int(handle.pointee.frames.spare_count + handle.pointee.frames.warm_count) }
  var spareTables: Int { unsafe Int(handle.pointee.tables.spare_count + handle.pointee.tables.warm_count) }

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

  /// Gives back what a session without streams and with nothing to send does not need until it is used again.
  func rest() { unsafe lk_session_memory_rest(handle) }

  /// Its frame buffer and its table of streams, where they are of the pool.
  var pages: [UnsafeRawPointer] {
    unsafe [handle.pointee.frame, handle.pointee.table].compactMap { UnsafeRawPointer($0) }
  }

  deinit {
    unsafe lk_session_memory_end(handle)
    unsafe handle.deallocate()
  }
}
