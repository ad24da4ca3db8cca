internal import Callers
internal import Reactor
package import Text

/// The sockets of the gRPC port.
package struct ListenSettings: Sendable {
  /// An address with its port.
  package struct Address: Hashable, Sendable {
    package var address: String
    package var port: UInt16
  }

  package var addresses: [Address] = []
  /// The service manager passes the sockets, and `addresses` are not used.
  package var takesPassedSockets = false
  /// Networks of proxies, whose connections begin with a PROXY header.
  package var proxyNetworks: [AddressRange] = []

  /// Whether an IPv4 address has this port, so that `::` must not have IPv4 on it too. Of port 0, each address gets its
  /// own free port.
  func hasIPv4(onPort port: UInt16) -> Bool {
    port != 0 && addresses.contains { $0.port == port && !$0.address.contains(":") }
  }

  /// Whether only programs on this machine can connect. The addresses of passed sockets are unknown here.
  var isLoopback: Bool { !takesPassedSockets && addresses.allSatisfy { Settings.isLoopback($0.address) } }
}

extension Settings {
  mutating func readListen(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("listen") { group throws(ConfigurationError) in
      let texts = try group.texts(
        "address", ["127.0.0.1"],
        "IPv4 or IPv6 literals to listen on, optionally with a port: 192.0.2.1:8443, [::1]:8443")
      let port = UInt16(
        try group.integer("port", 8443, 0...65_535, "TCP port of addresses without one; 0: any free port"))
      listen.takesPassedSockets = try group.flag(
        "systemd", false, "take the listening sockets of latchkeyd.socket instead of address and port")
      let networks = try group.texts(
        "proxy_protocol_networks", [],
        "networks of TCP proxies, such as 10.0.0.0/8, that must begin each connection with a PROXY header")
      allowUnidentified = try group.flag(
        "allow_unidentified", false, "accept callers without certificate or API key; only on a loopback address")
      reflection = try group.flag(
        "reflection", false, "serve gRPC reflection, which describes the service to every client")
      guard !texts.isEmpty else { throw group.wrong("address", "it must have at least one address") }
      listen.addresses = try texts.map { text throws(ConfigurationError) in
        guard let address = Settings.listenAddress(text, port: port) else {
          throw group.wrong("address", "it must be an IPv4 or IPv6 literal, optionally with a port, not \(text)")
        }
        return address
      }
      let fixed = listen.addresses.filter { $0.port != 0 }
      guard Set(fixed).count == fixed.count else {
        throw group.wrong("address", "each address may appear once")
      }
      listen.proxyNetworks = try networks.map { text throws(ConfigurationError) in
        guard let range = AddressRange(text) else {
          throw group.wrong(
            "proxy_protocol_networks", "\(text) must be an IP address or a network such as 10.0.0.0/8")
        }
        return range
      }
    }
  }

  /// Parses `192.0.2.1`, `192.0.2.1:8443`, `::1` or `[::1]:8443`.
  private static func listenAddress(_ text: String, port: UInt16) -> ListenSettings.Address? {
    if isAddress(text) { return ListenSettings.Address(address: text, port: port) }
    guard let colon = text.lastIndex(of: ":"), let own = UInt16(text[text.index(after: colon)...]) else { return nil }
    var address = String(text[..<colon])
    if address.hasPrefix("["), address.hasSuffix("]") {
      address = String(address.dropFirst().dropLast())
      guard address.contains(":") else { return nil }
    } else if address.contains(":") {
      return nil
    }
    return isAddress(address) ? ListenSettings.Address(address: address, port: own) : nil
  }

  func checkListen(_ reader: SettingsReader) throws(ConfigurationError) {
    guard !allowUnidentified || listen.isLoopback else {
      let places = listen.addresses.map(\.address).joined(separator: ", ")
      throw reader.wrong(
        "listen.allow_unidentified",
        "it is allowed only on loopback addresses, not \(listen.takesPassedSockets ? "with listen.systemd" : places)")
    }
  }
}
