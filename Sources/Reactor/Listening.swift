internal import CLinux

/// Whether this is an IPv4 or IPv6 literal.
package func isAddress(_ text: String) -> Bool { unsafe lk_is_address(text) }

/// A socket that listens, before a thread takes it over.
package struct BoundSocket: Sendable {
  let descriptor: Int32
  package let port: UInt16

  /// - Parameter address: an IPv4 or IPv6 literal.
  /// - Parameter port: 0 takes a free one.
  package init(address: String, port: UInt16, backlog: Int32) throws {
    descriptor = unsafe lk_listen(address, port, backlog)
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "listen on \(address) port \(port)") }
    self.port = UInt16(clamping: lk_local_port(descriptor))
  }
}

/// Takes connections from a listening socket.
package final class Listening {
  package let descriptor: Int32
  /// Held back so that a connection can still be taken and closed when no descriptor is left: an accept queue that is
  /// never emptied would keep epoll awake.
  private var spare: Int32

  package init(_ socket: BoundSocket) {
    descriptor = socket.descriptor
    spare = lk_eventfd()
  }

  deinit {
    lk_close(descriptor)
    if spare >= 0 { lk_close(spare) }
  }

  package enum Accepted {
    case connection(descriptor: Int32, address: String)
    /// No descriptor was left for it.
    case turnedAway(address: String)
    /// It was there and is no more.
    case gone
    /// It waits, and the system has nothing left to take it with: try again later.
    case exhausted
    case none
  }

  package func accept() -> Accepted {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      let accepted = unsafe lk_accept(descriptor, text.baseAddress, Int32(text.count))
      if accepted >= 0 { return unsafe .connection(descriptor: accepted, address: String(cString: text.baseAddress!)) }
      switch -accepted {
      case EAGAIN: return .none
      case EMFILE, ENFILE:
        guard spare >= 0 else {
          spare = lk_eventfd()
          return .exhausted
        }
        lk_close(spare)
        let turnedAway = unsafe lk_accept(descriptor, text.baseAddress, Int32(text.count))
        if turnedAway >= 0 { lk_close(turnedAway) }
        spare = lk_eventfd()
        return turnedAway >= 0 ? unsafe .turnedAway(address: String(cString: text.baseAddress!)) : .gone
      case ENOBUFS, ENOMEM: return .exhausted
      default: return .gone
      }
    }
  }
}
