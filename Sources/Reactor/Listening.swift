internal import CLinux

/// Returns whether a text is an IPv4 or IPv6 literal.
package func isAddress(_ text: String) -> Bool { unsafe lk_is_address(text) }

/// A listening socket that no thread owns yet.
package struct BoundSocket: Sendable {
  let descriptor: Int32
  package let address: String
  package let port: UInt16

  /// - Parameters:
  ///   - address: An IPv4 or IPv6 literal.
  ///   - port: 0 selects a free port.
  ///   - leavesIPv4: A socket on `::` takes no IPv4 connections, because another one has them.
  package init(address: String, port: UInt16, backlog: Int32, leavesIPv4: Bool = false) throws {
    descriptor = unsafe lk_listen(address, port, backlog, leavesIPv4)
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "listen on \(address) port \(port)") }
    self.address = address
    self.port = UInt16(clamping: lk_local_port(descriptor))
  }

  /// Takes over a listening socket that another process has opened, such as a service manager.
  package init(adopting descriptor: Int32) throws {
    self.descriptor = descriptor
    let result = lk_adopt_listener(descriptor)
    guard result == 0 else {
      throw SystemError(code: -result, call: "descriptor \(descriptor) as a listening TCP socket")
    }
    address = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      unsafe lk_local_address(descriptor, text.baseAddress, Int32(text.count))
        ? unsafe String(cString: text.baseAddress!) : ""
    }
    port = UInt16(clamping: lk_local_port(descriptor))
  }
}

/// Accepts connections from a listening socket.
package final class Listening {
  package let descriptor: Int32
  /// A reserved descriptor. Without any free descriptor the server could not accept and close a connection. The accept
  /// queue would stay full and keep epoll awake.
  private var spare: WakeEvent?

  package init(_ socket: BoundSocket) {
    descriptor = socket.descriptor
    spare = try? WakeEvent()
  }

  deinit { lk_close(descriptor) }

  package enum Accepted {
    case connection(descriptor: Int32, address: String)
    /// The server closed the connection because no descriptor was left.
    case turnedAway(address: String)
    /// The connection ended before it was accepted.
    case gone
    /// A connection waits, but the system has no resources to accept it. Try again later.
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
        guard spare != nil else {
          spare = try? WakeEvent()
          return .exhausted
        }
        spare = nil
        let turnedAway = unsafe lk_accept(descriptor, text.baseAddress, Int32(text.count))
        if turnedAway >= 0 { lk_close(turnedAway) }
        spare = try? WakeEvent()
        return turnedAway >= 0 ? unsafe .turnedAway(address: String(cString: text.baseAddress!)) : .gone
      case ENOBUFS, ENOMEM: return .exhausted
      default: return .gone
      }
    }
  }
}
