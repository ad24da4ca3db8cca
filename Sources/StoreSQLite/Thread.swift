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

/// One object for each thread that sets it, unseen by all others.
final class ThreadSlot<Value: AnyObject>: Sendable {
  private let key: pthread_key_t

  init() throws(StoreError) {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, nil)
    guard code == 0 else { throw .unavailable("no thread-local key left, errno \(code)") }
    self.key = key
  }

  deinit { pthread_key_delete(key) }

  /// The calling thread's object. A thread that ends without setting nil leaks it.
  var value: Value? {
    get {
      guard let raw = unsafe pthread_getspecific(key) else { return nil }
      return unsafe Unmanaged<Value>.fromOpaque(raw).takeUnretainedValue()
    }
    set {
      let old = unsafe pthread_getspecific(key)
      let new = unsafe newValue.map { unsafe UnsafeRawPointer(Unmanaged.passRetained($0).toOpaque()) }
      let code = unsafe pthread_setspecific(key, new)
      precondition(code == 0, "no memory for a thread-local value")
      if let old = unsafe old { unsafe Unmanaged<Value>.fromOpaque(old).release() }
    }
  }
}
