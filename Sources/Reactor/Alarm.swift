internal import CLinux

/// A descriptor that becomes readable at a given time. Use it where a timer's resolution of one millisecond is too
/// coarse.
package final class Alarm {
  package let descriptor: Int32
  private var atNanos = Int64.max

  package init() throws(SystemError) {
    let descriptor = lk_alarm()
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "timerfd_create") }
    self.descriptor = descriptor
  }

  deinit { lk_close(descriptor) }

  /// Sets the time, in nanoseconds of the monotonic clock. The descriptor is not readable until then.
  package func set(atNanos: Int64) {
    guard atNanos != self.atNanos else { return }
    self.atNanos = atNanos
    lk_alarm_arm(descriptor, atNanos)
  }

  /// Removes the time.
  package func clear() { set(atNanos: .max) }
}
