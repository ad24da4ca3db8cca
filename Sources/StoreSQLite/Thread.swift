import CSQLite
import Glibc
import Store

/// Runs `body` on a thread of its own, which ends with it.
func startThread(_ body: sending @escaping () -> Void) throws(Failure) {
  final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
  let box = unsafe Unmanaged.passRetained(Box(body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, nil,
    { box in
      if let box = unsafe box { unsafe Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
      return nil
    }, box.toOpaque())
  guard code == 0 else {
    unsafe box.release()
    throw Failure(code: SQLITE_ERROR, text: "a thread cannot be started, errno \(code)")
  }
  pthread_detach(thread)
}
