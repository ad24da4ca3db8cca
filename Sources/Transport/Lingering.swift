internal import Observability
internal import Reactor

/// A closed connection whose socket is still open.
struct Lingering {
  var descriptor: Int32
  var countedAddress: String?
  /// Time to close the socket even if bytes are still in transit, in milliseconds.
  var untilMillis: Int64
}

/// Graceful close of a socket.
///
/// The kernel answers input on a closed socket with a reset and discards unsent output. A client that only sends window
/// updates would lose the last responses, whose changes are committed. The worker therefore stops sending and discards
/// input until the client has closed or its time is over. A slow client gets as much time for the last responses as a
/// drain gives to calls.
extension Worker {
  private static let droppedBytesMax = 65_536

  func linger(_ connection: Connection) {
    let ticket = connection.ticket
    lingering[ticket] = Lingering(
      descriptor: connection.descriptor, countedAddress: connection.countedAddress,
      untilMillis: nowMillis + limits.drainMillis)
    endSending(to: connection.descriptor)
    startTimer(connection, kind: Worker.lingerTimer, delayMillis: limits.lingerMillis)
    do {
      try reactor.change(connection.descriptor, ticket, read: true, write: false)
    } catch {
      log.error("cannot change a connection in epoll", ["why": "\(error)"])
      endLingering(ticket)
    }
  }

  func drop(_ ticket: Ticket) {
    guard let connection = lingering[ticket] else { return }
    var bytes: [UInt8] = []
    let step = receive(from: connection.descriptor, into: &bytes, bytesMax: Worker.droppedBytesMax)
    if step == .closed { endLingering(ticket) }
  }

  /// Closes the socket, or waits again while the client still reads.
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
    leave(connection.descriptor, connection.countedAddress)
  }
}
