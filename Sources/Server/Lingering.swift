internal import Reactor

/// A connection of which only the socket is left.
struct Lingering {
  var descriptor: Int32
  var address: String
  /// However much is still on its way.
  var untilMillis: Int64
}

/// The kernel answers what comes on a closed socket with a reset, and throws away what it has still to send: a client
/// that merely opens its windows would lose the last answers, of changes that are written. So what is on its way is
/// awaited: no more is sent, and what comes is dropped, until the client has closed as well or its time is over. A slow
/// client gets as much time for the last answers as a drain gives to calls.
extension Worker {
  private static let droppedBytesMax = 65_536

  func linger(_ connection: Connection) {
    let ticket = connection.ticket
    lingering[ticket] = Lingering(
      descriptor: connection.descriptor, address: connection.address, untilMillis: nowMillis + limits.drainMillis)
    endSending(to: connection.descriptor)
    startTimer(connection, kind: Worker.lingerTimer, delayMillis: limits.lingerMillis)
    do {
      try reactor.change(connection.descriptor, ticket, read: true, write: false)
    } catch {
      log.error("epoll refuses a change", ["why": "\(error)"])
      endLingering(ticket)
    }
  }

  func drop(_ ticket: Ticket) {
    guard let connection = lingering[ticket] else { return }
    var bytes: [UInt8] = []
    let step = receive(from: connection.descriptor, into: &bytes, bytesMax: Worker.droppedBytesMax)
    if step == .closed { endLingering(ticket) }
  }

  /// The client has had its time to close.
  func lingered(_ ticket: Ticket) {
    guard let connection = lingering[ticket] else { return }
    guard isTaking(connection.descriptor), nowMillis < connection.untilMillis else {
      return endLingering(ticket)
    }
    let delayMillis = min(limits.lingerMillis, connection.untilMillis - nowMillis)
    reactor.startTimer(ticket, kind: Worker.lingerTimer, delayMillis: delayMillis)
  }

  func endLingering(_ ticket: Ticket) {
    guard let connection = lingering.removeValue(forKey: ticket) else { return }
    leave(connection.descriptor, connection.address)
  }
}
