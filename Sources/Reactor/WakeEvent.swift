internal import CLinux

/// A descriptor that one thread makes readable to wake another.
final class WakeEvent: Sendable {
  let descriptor: Int32

  init() throws(SystemError) {
    let descriptor = lk_eventfd()
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "eventfd") }
    self.descriptor = descriptor
  }

  deinit { lk_close(descriptor) }

  func raise() { lk_eventfd_raise(descriptor) }

  func clear() { lk_eventfd_clear(descriptor) }
}
