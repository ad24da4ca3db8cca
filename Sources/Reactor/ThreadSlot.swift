internal import CLinux

/// A thread-local object. Each thread sets and sees only its own.
package final class ThreadSlot<Value: AnyObject>: Sendable {
  private let key: pthread_key_t

  package init() throws(SystemError) {
    var key = pthread_key_t()
    let code = unsafe pthread_key_create(&key, nil)
    guard code == 0 else { throw SystemError(code: code, call: "pthread_key_create") }
    self.key = key
  }

  deinit { pthread_key_delete(key) }

  /// The calling thread's object. A thread must set nil before it ends, or the object leaks.
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
