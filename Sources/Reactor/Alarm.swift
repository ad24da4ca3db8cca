internal import CLinux

/// A descriptor that becomes readable at a moment, for who cannot live with a timer's whole milliseconds.
package final class Alarm {
  package let descriptor: Int32
  private var atNanos = Int64.max

  package init() throws {
    descriptor = lk_alarm()
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "timerfd_create") }
  }

  deinit { lk_close(descriptor) }

  /// Silences it until then; nanoseconds of the monotonic clock.
  package func set(atNanos: Int64) {
    guard atNanos != self.atNanos else { return }
    self.atNanos = atNanos
    lk_alarm_arm(descriptor, atNanos)
  }

  /// Silences it.
  package func clear() { set(atNanos: .max) }
}
