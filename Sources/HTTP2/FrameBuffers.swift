internal import CNghttp2

/// Memory for the frames that sessions are sending. Made and used on one thread.
@safe package final class FrameBuffers {
  fileprivate let handle: UnsafeMutablePointer<lk_frame_buffers>

  /// Fails only where memory does.
  package init?() {
    guard let handle = unsafe lk_frame_buffers_new() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe lk_frame_buffers_free(handle) }

  /// Buffers that no session has.
  var spareCount: Int { unsafe Int(handle.pointee.spare_count) }
}

/// What nghttp2 takes the memory of one session from; outlives it.
@safe final class SessionMemory {
  let handle: UnsafeMutablePointer<lk_session_memory>
  private let buffers: FrameBuffers?

  init(_ buffers: FrameBuffers?) {
    self.buffers = buffers
    unsafe handle = .allocate(capacity: 1)
    unsafe handle.initialize(to: lk_session_memory(buffers: buffers?.handle, buffer: nil))
  }

  deinit { unsafe handle.deallocate() }
}
