internal import Encodings
internal import Store
internal import Text
internal import API

// Validation of what a caller reports about its user's client.

extension Shape {
  /// Validates the client context. Only an invalid `ip_address` fails the call, because limits depend on it.
  static func client(_ client: ClientContext?, sha256: ([UInt8]) -> Digest) throws -> ClientContext {
    guard let client else { return ClientContext() }
    return ClientContext(
      ipAddress: try ipAddress(client.ipAddress),
      userAgent: ShownText.cut(ShownText.cleaned(client.userAgent), bytesMax: userAgentBytesMax),
      deviceID: deviceID(client.deviceID, sha256))
  }

  /// Returns the canonical form of an IP address, without port and zone. Returns an empty string for an empty one.
  static func ipAddress(_ address: String) throws -> String {
    guard !address.isEmpty else { return "" }
    guard let parsed = IPAddress(address) else {
      throw invalid("client.ip_address", "Send one IP address, with or without a port, or leave the field empty.")
    }
    return parsed.text
  }

  /// Returns the device ID, or its digest if it is too long or has control characters.
  ///
  /// Never truncates an ID, because two IDs with the same beginning would become one known device.
  private static func deviceID(_ id: String, _ sha256: ([UInt8]) -> Digest) -> String {
    guard id.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { return "" }
    guard id.utf8.count > deviceIDBytesMax || ShownText.withoutControls(id) != id else { return id }
    return "sha256:" + Base64URL.encode(sha256(Array(id.utf8)).bytes)
  }
}
