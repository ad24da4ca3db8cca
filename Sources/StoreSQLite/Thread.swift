import CLinux
import CSQLite
import Glibc
import Store

/// Runs `body` on a thread of its own, which ends with it.
func startThread(named name: String, _ body: sending @escaping () -> Void) throws(Failure) {
  final class Box {
    let name: String
    let body: () -> Void
    init(_ name: String, _ body: @escaping () -> Void) {
      self.name = name
      self.body = body
    }
  }
  let box = unsafe Unmanaged.passRetained(Box(name, body))
  var thread = pthread_t()
  let code = unsafe pthread_create(
    &thread, nil,
    { box in
      guard let raw = unsafe box else { return nil }
      let box = unsafe Unmanaged<Box>.fromOpaque(raw).takeRetainedValue()
      unsafe lk_name_thread(box.name)
      box.body()
      return nil
    }, box.toOpaque())
  guard code == 0 else {
    unsafe box.release()
    throw Failure(code: SQLITE_ERROR, text: "a thread cannot be started, errno \(code)")
  }
  pthread_detach(thread)
}
