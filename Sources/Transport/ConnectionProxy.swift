internal import Observability
internal import Reactor

// Connections that a TCP proxy opens for its clients.

extension Connection {
  /// Reads the PROXY header. Returns whether it is complete and its client is admitted, so that the handshake begins.
  /// The time limit of the handshake includes it.
  func readProxyHeader() -> Bool {
    while let bytes = proxyHeader {
      switch ProxyHeader.parse(bytes) {
      case .complete(let header, _):
        proxyHeader = nil
        return admit(header)
      case .invalid(let fault):
        worker.metrics.handshake(.proxyHeader)
        worker.log.debug("PROXY header rejected", ["address": address, "why": fault.rawValue])
        close()
        return false
      case .incomplete(let bytesMax):
        switch receive(from: descriptor, into: &proxyHeader!, bytesMax: bytesMax) {
        case .done: continue
        case .wait: return false
        case .closed:
          worker.metrics.handshake(.closed)
          close()
          return false
        }
      }
    }
    return true
  }

  /// From now on the connection counts for the proxy's client.
  private func admit(_ header: ProxyHeader) -> Bool {
    guard case .client(let client) = header else { return true }
    if let limit = worker.shared.counts.admit(client, nowMillis: worker.nowMillis) {
      worker.shared.reached(limit, client)
      close()
      return false
    }
    (address, countedAddress) = (client, client)
    return true
  }
}
