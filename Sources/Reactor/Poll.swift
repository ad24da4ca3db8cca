/// Everything that a component waits for, behind one descriptor: its sockets, its timer and its command queue.
///
/// For a component that runs inside another event loop. The loop watches `descriptor`, and the component takes the
/// events when it is readable.
package final class Poll {
  package enum Event {
    /// Commands wait in the queue.
    case commands
    case alarm
    case socket(Ticket, isReadable: Bool, isWritable: Bool, isBroken: Bool)
  }

  private static let commandsTicket = Ticket(slot: .max, generation: 0)
  private static let alarmTicket = Ticket(slot: .max - 1, generation: 0)
  /// Further events follow in the next turn.
  private static let eventsPerTurnMax = 64

  private let epoll: Epoll
  private let alarm: Alarm

  package init(_ commandQueue: CommandQueue<some Sendable>) throws(SystemError) {
    epoll = try Epoll(eventsMax: Poll.eventsPerTurnMax)
    alarm = try Alarm()
    try epoll.add(commandQueue.wakeDescriptor, Poll.commandsTicket, read: true, write: false)
    try epoll.add(alarm.descriptor, Poll.alarmTicket, read: true, write: false)
  }

  package var descriptor: Int32 { epoll.descriptor }

  /// Returns the events that are ready, and clears a timer that has fired.
  ///
  /// - Parameter waitMillis: how long to wait for the first event.
  package func take(waitMillis: Int32 = 0) -> [Event] {
    (0..<epoll.wait(timeoutMillis: waitMillis)).map { index in
      let event = epoll[index]
      switch event.ticket {
      case Poll.commandsTicket: return .commands
      case Poll.alarmTicket:
        alarm.clear()
        return .alarm
      default:
        return .socket(
          event.ticket, isReadable: event.isReadable, isWritable: event.isWritable, isBroken: event.isBroken)
      }
    }
  }

  /// Watches a socket, or changes the events that it is watched for.
  package func watch(_ socket: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws(SystemError) {
    do throws(SystemError) {
      try epoll.add(socket, ticket, read: read, write: write)
    } catch {
      guard error.isExisting else { throw error }
      try epoll.change(socket, ticket, read: read, write: write)
    }
  }

  package func unwatch(_ socket: Int32) throws(SystemError) { try epoll.remove(socket) }

  /// Sets the timer, relative to now. nil: disables it.
  package func setAlarm(millis: Int64?) {
    alarm.set(atNanos: millis.map { monotonicNanos() + $0 * 1_000_000 } ?? .max)
  }
}
