import Encodings

/// The status of a call.
package struct Status: Hashable, Sendable {
  /// The status codes that the gRPC library itself may produce (doc/statuscodes.md). Services defines the codes that
  /// only the application may produce.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let ok = Code(rawValue: 0)
    package static let cancelled = Code(rawValue: 1)
    package static let unknown = Code(rawValue: 2)
    package static let deadlineExceeded = Code(rawValue: 4)
    package static let permissionDenied = Code(rawValue: 7)
    package static let resourceExhausted = Code(rawValue: 8)
    package static let unimplemented = Code(rawValue: 12)
    package static let `internal` = Code(rawValue: 13)
    package static let unavailable = Code(rawValue: 14)
    package static let unauthenticated = Code(rawValue: 16)
  }

  /// Maximum length of `grpc-message` in bytes, before percent-encoding.
  ///
  /// A message may quote client input, and nghttp2 does not send a header block of more than 64 KiB.
  package static let messageBytesMax = 1_024

  package var code: Code
  package var message: String
  /// A packed google.rpc.Status with the same code and message; empty if there are no details.
  package var details: [UInt8]
  /// The delay before the client should retry (gRFC A6). A negative value means "do not retry".
  package var pushbackMillis: Int64?

  package init(_ code: Code, _ message: String = "", details: [UInt8] = [], pushbackMillis: Int64? = nil) {
    self.code = code
    self.message = message
    self.details = details
    self.pushbackMillis = pushbackMillis
  }

  /// The trailers of the call, in the order that all responses share.
  package var fields: [(name: String, value: [UInt8])] {
    var fields = [(name: "grpc-status", value: Array(String(code.rawValue).utf8))]
    if !message.isEmpty {
      fields.append(("grpc-message", Status.percentEncoded(Status.cut(message, bytesMax: Status.messageBytesMax))))
    }
    if !details.isEmpty { fields.append(("grpc-status-details-bin", Base64.encode(details))) }
    if let pushbackMillis { fields.append(("grpc-retry-pushback-ms", Array(String(pushbackMillis).utf8))) }
    return fields
  }

  /// Truncates a text to at most `bytesMax` bytes, without splitting a scalar.
  ///
  /// Counts bytes instead of Characters, because a Character may have any number of combining marks.
  package static func cut(_ text: String, bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end])
  }

  /// Percent-encodes a text: keeps bytes 0x20-0x24 and 0x26-0x7E, and replaces all others by %XX.
  package static func percentEncoded(_ text: String) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if (0x20...0x7e).contains(byte), byte != UInt8(ascii: "%") {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return encoded
  }
}
