internal import CLinux

/// Returns the IP addresses of a host, which may itself be an IP address. Name resolution blocks: never call this on a
/// reactor.
package func resolve(_ host: String) throws -> [String] {
  if isAddress(host) { return [host] }
  let most = 16
  let addressBytes = LK_ADDRESS_BYTES
  return try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: most * addressBytes) { texts in
    let count = unsafe lk_resolve(host, texts.baseAddress, Int32(most))
    guard count > 0 else { throw UnknownHost(host: host) }
    return (0..<Int(count)).map { unsafe String(cString: texts.baseAddress! + $0 * addressBytes) }
  }
}

/// An error for a host name without an IP address.
package struct UnknownHost: Error, Hashable, CustomStringConvertible {
  package var host: String
  package var description: String { "the host name \(host) has no IP address" }
}

/// Begins a connection to an address from `resolve`. The socket becomes writable when the connection is established or
/// has failed. `connectionResult` distinguishes the two.
package func beginConnection(address: String, port: UInt16) throws -> Int32 {
  let descriptor = unsafe lk_connect(address, port)
  guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "connect to \(address) port \(port)") }
  return descriptor
}

package func connectionResult(_ descriptor: Int32, address: String, port: UInt16) throws {
  let result = lk_connect_result(descriptor)
  guard result == 0 else { throw SystemError(code: -result, call: "connect to \(address) port \(port)") }
}
