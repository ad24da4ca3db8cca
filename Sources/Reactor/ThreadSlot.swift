internal import CLinux

/// One object for each thread that sets it, unseen by all others.
package final class ThreadSlot<Value: AnyObject>: Sendable {
  private let key: pthread_key_t

  package init() throws(SystemError) {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, nil)
    guard code == 0 else { throw SystemError(code: code, call: "pthread_key_create") }
    self.key = key
  }

  deinit { pthread_key_delete(key) }

  /// The calling thread's object. A thread that ends without setting nil leaks it.
  package var value: Value? {
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
