/// The address of a server that this one calls over gRPC: a collector of traces, or a hook.
package struct ServerAddress: Hashable, Sendable {
  package var host: String
  package var port: UInt16
  /// Whether the connection has no TLS.
  package var isPlain: Bool

  private static let loopback = ["localhost", "127.0.0.1", "[::1]"]

  /// Reads `https://HOST:PORT`, or `http://HOST:PORT` of this machine. Returns what is wrong otherwise.
  static func parse(_ text: String, usualPort: UInt16) -> Result<ServerAddress, Fault> {
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(parts[0]) else {
      return .failure(Fault(why: "it must begin with https:// or http://"))
    }
    let address = parts[1].hasSuffix("/") ? parts[1].dropLast() : parts[1]
    let colon = address.last == "]" ? nil : address.lastIndex(of: ":")
    let host = colon.map { address[..<$0] } ?? address
    guard let port = colon.map({ UInt16(address[address.index(after: $0)...]) }) ?? usualPort, port > 0,
      !host.isEmpty, !host.contains(where: { "/?#@ ".contains($0) })
    else { return .failure(Fault(why: "it must be a URL of a host and a port, without a path")) }
    let isPlain = parts[0] == "http"
    guard !isPlain || loopback.contains(String(host)) else {
      return .failure(Fault(why: "http:// is only for a server on this machine; use https://"))
    }
    let name = host.hasPrefix("[") ? host.dropFirst().dropLast() : host
    return .success(ServerAddress(host: String(name), port: port, isPlain: isPlain))
  }

  struct Fault: Error, Hashable {
    var why: String
  }
}
