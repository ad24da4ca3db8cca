/// The header fields of a client's request. Constant fields come first, so that HPACK encodes each in one byte.
package enum RequestFields {
  /// Returns the header fields in order.
  ///
  /// - Parameter metadata: fields that `Metadata.refusal` accepts.
  package static func list(
    path: String, authority: String, userAgent: String, timeoutMillis: Int64?,
    metadata: [(name: String, value: String)] = []
  ) -> [(name: String, value: [UInt8])] {
    var fields: [(name: String, value: [UInt8])] = [
      (":method", Array("POST".utf8)), (":scheme", Array("https".utf8)), (":path", Array(path.utf8)),
      (":authority", Array(authority.utf8)), ("te", Array("trailers".utf8)),
      ("content-type", Array("application/grpc".utf8)), ("user-agent", Array(userAgent.utf8)),
    ]
    if let timeoutMillis { fields.append(("grpc-timeout", Array(Timeout.text(timeoutMillis).utf8))) }
    for (name, value) in metadata { fields.append((name, Array(value.utf8))) }
    return fields
  }
}

/// The rules for custom metadata of a call.
package enum Metadata {
  /// Returns why a field cannot be sent, or nil if it can.
  ///
  /// Names are lower-case and not reserved by the protocol. Values are printable ASCII; binary values are unsupported.
  package static func refusal(name: String, value: String) -> String? {
    let allowed = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    if name.isEmpty || !allowed { return "a metadata name may contain only lower-case letters, digits, - _ and ." }
    if name.hasPrefix("grpc-") || name.hasSuffix("-bin") || ["te", "content-type", "user-agent"].contains(name) {
      return "the metadata name \(name) is reserved by the protocol"
    }
    guard value.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else {
      return "the value of \(name) is not printable ASCII"
    }
    return nil
  }
}
