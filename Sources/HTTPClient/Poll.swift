import CCurl
import CLinux

/// An epoll instance for everything that one driver waits for: libcurl's sockets, libcurl's next deadline and the
/// inbox. libcurl's callbacks use only this object. They must not use the driver, which is inside a call on the multi
/// handle.
@safe final class Poll {
  enum Event {
    case woken
    case alarm
    /// A ready socket, with libcurl's flags.
    case socket(curl_socket_t, Int32)
  }

  /// The epoll descriptor. It is readable while an event is ready.
  let descriptor: Int32
  private let alarm: Int32
  private let wake: Int32

  private static let wakeTicket = UInt64.max
  private static let alarmTicket = UInt64.max - 1
  /// Further events follow in the next turn.
  private static let eventsPerTurnMax = 64

  /// Returns nil if a system call fails.
  init?(wake: Int32) {
    self.wake = wake
    descriptor = lk_epoll_create()
    alarm = lk_alarm()
    guard descriptor >= 0, alarm >= 0,
      lk_epoll_control(descriptor, Int32(LK_ADD), wake, UInt32(LK_READ), Poll.wakeTicket) == 0,
      lk_epoll_control(descriptor, Int32(LK_ADD), alarm, UInt32(LK_READ), Poll.alarmTicket) == 0
    else { return nil }
  }

  deinit {
    if alarm >= 0 { lk_close(alarm) }
    if descriptor >= 0 { lk_close(descriptor) }
  }

  /// Returns the events that are ready, without waiting. A deadline that has passed is cleared.
  func take() -> [Event] {
    unsafe withUnsafeTemporaryAllocation(of: lk_ready.self, capacity: Poll.eventsPerTurnMax) { ready in
      let count = unsafe lk_epoll_wait(descriptor, ready.baseAddress, Int32(Poll.eventsPerTurnMax), 0)
      precondition(count >= 0, "epoll_wait failed, which indicates a bug: errno \(-count)")
      return (0..<Int(count)).map { index in unsafe event(ready[index]) }
    }
  }

  private func event(_ ready: lk_ready) -> Event {
    switch ready.ticket {
    case Poll.wakeTicket:
      lk_eventfd_clear(wake)
      return .woken
    case Poll.alarmTicket:
      setAlarm(millis: -1)
      return .alarm
    default:
      var flags: Int32 = 0
      if ready.flags & UInt32(LK_READ) != 0 { flags |= CURL_CSELECT_IN }
      if ready.flags & UInt32(LK_WRITE) != 0 { flags |= CURL_CSELECT_OUT }
      if ready.flags & UInt32(LK_HANGUP) != 0 { flags |= CURL_CSELECT_ERR }
      return .socket(curl_socket_t(truncatingIfNeeded: ready.ticket), flags)
    }
  }

  /// Watches a socket as libcurl requests. A transfer whose socket cannot be watched ends at its time limit.
  func watch(_ socket: curl_socket_t, _ wish: Int32) {
    guard wish != CURL_POLL_REMOVE else {
      _ = lk_epoll_control(descriptor, Int32(LK_REMOVE), socket, 0, 0)
      return
    }
    let reads = wish == CURL_POLL_IN || wish == CURL_POLL_INOUT ? UInt32(LK_READ) : 0
    let writes = wish == CURL_POLL_OUT || wish == CURL_POLL_INOUT ? UInt32(LK_WRITE) : 0
    let ticket = UInt64(truncatingIfNeeded: socket)
    if lk_epoll_control(descriptor, Int32(LK_ADD), socket, reads | writes, ticket) == -EEXIST {
      _ = lk_epoll_control(descriptor, Int32(LK_CHANGE), socket, reads | writes, ticket)
    }
  }

  /// Sets the time until libcurl's next deadline. Negative: none.
  func setAlarm(millis: Int) {
    lk_alarm_arm(alarm, millis < 0 ? Int64.max : lk_monotonic_nanos() + Int64(millis) * 1_000_000)
  }
}
