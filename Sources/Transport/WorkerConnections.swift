internal import HTTP2
internal import Observability
internal import Reactor
internal import Synchronization
internal import TLS

/// Connections of a worker: their start, their end, their timers and their limits.
extension Worker {
  /// Takes over an accepted socket, which `ConnectionCounts` and `load` already count.
  /// - Parameter isProxied: the address is that of a proxy, which sends a PROXY header.
  func adopt(_ descriptor: Int32, _ address: String, isProxied: Bool) {
    guard let channel = Channel(shared.tls.context, descriptor: descriptor) else {
      closeDescriptor(descriptor)
      load.newcomers.subtract(1, ordering: .relaxed)
      load.connections.subtract(1, ordering: .relaxed)
      shared.counts.left(isProxied ? nil : address)
      return stopWhenEmpty()
    }
    let ticket = connections.reserve()
    let connection = Connection(
      ticket: ticket, descriptor: descriptor, address: address, isProxied: isProxied, channel: channel,
      worker: self)
    connections.insert(connection, at: ticket)
    do {
      try reactor.watch(descriptor, ticket, read: true, write: false)
    } catch {
      log.error("cannot add a connection to epoll", ["why": "\(error)"])
      return connection.close()
    }
    let handshakeMillis = draining ? limits.lateHandshakeMillis : limits.handshakeMillis
    startTimer(connection, kind: Worker.handshakeTimer, delayMillis: handshakeMillis)
    // The ClientHello has often already arrived.
    connection.ready(readable: true, writable: false)
  }

  func closed(_ connection: Connection, _ kind: ConnectionPhase.CloseKind) {
    connections.remove(connection.ticket)
    switch kind {
    case .inOrder: linger(connection)
    case .abrupt: leave(connection.descriptor, connection.countedAddress)
    }
  }

  func leave(_ descriptor: Int32, _ countedAddress: String?) {
    do {
      try reactor.unwatch(descriptor)
    } catch {
      log.error("cannot remove a connection from epoll", ["why": "\(error)"])
    }
    closeDescriptor(descriptor)
    load.connections.subtract(1, ordering: .relaxed)
    shared.counts.left(countedAddress)
    stopWhenEmpty()
  }

  func forgetNewcomer() { load.newcomers.subtract(1, ordering: .relaxed) }

  func startTimer(_ connection: Connection, kind: UInt32, delayMillis: Int64) {
    reactor.startTimer(connection.ticket, kind: kind, delayMillis: delayMillis)
  }

  func watch(_ connection: Connection, read: Bool, write: Bool) {
    do {
      try reactor.change(connection.descriptor, connection.ticket, read: read, write: write)
    } catch {
      log.error("cannot change a connection in epoll", ["why": "\(error)"])
      connection.close()
    }
  }

  func reached(_ limit: LimitKind, on connection: Connection) { shared.reached(limit, connection.address) }

  /// Records that a connection ended because of its client's behaviour.
  func offended(_ connection: Connection, _ fault: Fault) {
    if let limit = LimitKind(rawValue: fault.debugData) { reached(limit, on: connection) }
    if fault.isOffence { shared.counts.offended(connection.address, nowMillis: nowMillis) }
  }
}
