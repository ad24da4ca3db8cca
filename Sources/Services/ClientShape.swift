internal import Encodings
internal import Store
internal import Text
internal import API

// The shape of what a caller reports of its user's client.

extension Shape {
  /// Only `ip_address` can be wrong: limits count by it. What merely describes the client never fails a call.
  static func client(_ client: ClientContext?, sha256: ([UInt8]) -> Digest) throws -> ClientContext {
    guard let client else { return ClientContext() }
    return ClientContext(
      ipAddress: try ipAddress(client.ipAddress),
      userAgent: ShownText.cut(ShownText.cleaned(client.userAgent), bytesMax: userAgentBytesMax),
      deviceID: deviceID(client.deviceID, sha256))
  }

  /// The one spelling of the address, without port and zone; empty where none was given.
  static func ipAddress(_ address: String) throws -> String {
    guard !address.isEmpty else { return "" }
    guard let parsed = IPAddress(address) else {
      throw invalid("client.ip_address", "Send one IP address, with or without a port, or leave the field empty.")
    }
    return parsed.text
  }

  /// A device id is compared byte for byte, so that it is never shortened: two ids that begin alike must not become one
  /// known device. An id that is too long, or that a terminal could not show, is replaced by its digest.
  private static func deviceID(_ id: String, _ sha256: ([UInt8]) -> Digest) -> String {
    guard id.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { return "" }
    guard id.utf8.count > deviceIDBytesMax || ShownText.withoutControls(id) != id else { return id }
    return "sha256:" + Base64URL.encode(sha256(Array(id.utf8)).bytes)
  }
}
