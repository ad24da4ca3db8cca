import CLinux
import Store

/// All events that one pool waits for behind one descriptor: its sockets, its timer and its inbox.
final class Poll {
  enum Event {
    case woken
    case alarm
    case pipeline(UInt64)
  }

  /// The pool's own epoll, readable while an event is ready.
  let descriptor: Int32
  private let alarm: Int32
  private let wake: Int32

  private static let wakeTicket = UInt64.max
  private static let alarmTicket = UInt64.max - 1
  /// Further events follow in the next turn.
  private static let eventsPerTurnMax = 32

  init(wake: Int32) throws(StoreError) {
    self.wake = wake
    descriptor = lk_epoll_create()
    alarm = lk_alarm()
    guard descriptor >= 0, alarm >= 0,
      lk_epoll_control(descriptor, Int32(LK_ADD), wake, UInt32(LK_READ), Poll.wakeTicket) == 0,
      lk_epoll_control(descriptor, Int32(LK_ADD), alarm, UInt32(LK_READ), Poll.alarmTicket) == 0
    else { throw .unavailable("no file descriptor is available for epoll") }
  }

  deinit {
    if alarm >= 0 { lk_close(alarm) }
    if descriptor >= 0 { lk_close(descriptor) }
  }

  /// Returns the events that are ready.
  ///
  /// - Parameter waitMillis: how long to wait for the first one.
  func take(waitMillis: Int32) -> [Event] {
    unsafe withUnsafeTemporaryAllocation(of: lk_ready.self, capacity: Poll.eventsPerTurnMax) { ready in
      let count = unsafe lk_epoll_wait(descriptor, ready.baseAddress, Int32(Poll.eventsPerTurnMax), waitMillis)
      precondition(count >= 0, "epoll_wait fails only because of a bug: errno \(-count)")
      return (0..<Int(count)).map { index in unsafe event(ready[index].ticket) }
    }
  }

  private func event(_ ticket: UInt64) -> Event {
    switch ticket {
    case Poll.wakeTicket:
      lk_eventfd_clear(wake)
      return .woken
    case Poll.alarmTicket:
      setAlarm(millis: nil)
      return .alarm
    default: return .pipeline(ticket)
    }
  }

  /// False: the system call failed.
  func watch(_ socket: Int32, ticket: UInt64) -> Bool {
    lk_epoll_control(descriptor, Int32(LK_ADD), socket, UInt32(LK_READ), ticket) == 0
  }

  func change(_ socket: Int32, ticket: UInt64, awaitsRoom: Bool) {
    let flags = awaitsRoom ? UInt32(LK_READ) | UInt32(LK_WRITE) : UInt32(LK_READ)
    _ = lk_epoll_control(descriptor, Int32(LK_CHANGE), socket, flags, ticket)
  }

  func unwatch(_ socket: Int32) { _ = lk_epoll_control(descriptor, Int32(LK_REMOVE), socket, 0, 0) }

  /// Sets the timer, relative to now. nil: disables it.
  func setAlarm(millis: Int64?) {
    lk_alarm_arm(alarm, millis.map { lk_monotonic_nanos() + $0 * 1_000_000 } ?? .max)
  }
}
