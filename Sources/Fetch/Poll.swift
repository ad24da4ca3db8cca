import CCurl
import CLinux

/// Everything that one driver waits for behind one descriptor: libcurl's sockets, the moment that libcurl wants to be
/// called at, and the inbox. libcurl's callbacks touch this object only, never the driver, which is in the middle of a
/// call on the multi handle then.
@safe final class Poll {
  enum Event {
    case woken
    case alarm
    /// With libcurl's flags.
    case socket(curl_socket_t, Int32)
  }

  /// An epoll of its own, which can be read while something is ready.
  let descriptor: Int32
  private let alarm: Int32
  private let wake: Int32

  private static let wakeTicket = UInt64.max
  private static let alarmTicket = UInt64.max - 1
  /// The rest comes with the next turn.
  private static let eventsPerTurnMax = 64

  /// nil: the system refuses.
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

  /// What is ready, without waiting. An alarm that went off is silent from then on.
  func take() -> [Event] {
    unsafe withUnsafeTemporaryAllocation(of: lk_ready.self, capacity: Poll.eventsPerTurnMax) { ready in
      let count = unsafe lk_epoll_wait(descriptor, ready.baseAddress, Int32(Poll.eventsPerTurnMax), 0)
      precondition(count >= 0, "epoll_wait can fail only through a mistake of ours: errno \(-count)")
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

  /// libcurl's wish for one socket. One that cannot be watched leaves its transfer to the time limit.
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

  /// libcurl wants to be called in so many milliseconds; negative: not at all.
  func setAlarm(millis: Int) {
    lk_alarm_arm(alarm, millis < 0 ? Int64.max : lk_monotonic_nanos() + Int64(millis) * 1_000_000)
  }
}
