internal import Reactor

extension Settings {
  mutating func readKeys(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("keys") { group throws(ConfigurationError) in
      keysAddress = try group.text(
        "address", "", "IPv4 or IPv6 literal that serves the public keys over HTTPS; empty: disabled")
      keysPort = UInt16(try group.integer("port", 8444, 0...65_535, "TCP port; 0: any free port"))
      let url = try group.text("url", "", "https:// URL at which verifiers reach that address; empty: tokens.issuer")
      keysURL = url.isEmpty ? issuer : url
      if keysURL.hasSuffix("/") { keysURL.removeLast() }
    }
  }

  func checkKeys(_ reader: SettingsReader) throws(ConfigurationError) {
    guard !keysAddress.isEmpty else { return }
    guard isAddress(keysAddress) else {
      throw reader.wrong("keys.address", "it must be an IPv4 or IPv6 literal, not \(keysAddress)")
    }
    guard keysURL.hasPrefix("https://"), keysURL.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw reader.wrong("keys.url", "it must start with https://, not \(keysURL)")
    }
  }
}
