import Encodings

/// How a call ended.
package struct Status: Hashable, Sendable {
  /// The codes that the library itself may produce (doc/statuscodes.md). Those that only the application may are
  /// named where the application decides them, in Services.
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

  /// Of `grpc-message`, before it is encoded: a text may quote what came from outside, and a header block of more than
  /// 64 KiB does not leave at all.
  package static let messageBytesMax = 1_024

  package var code: Code
  package var message: String
  /// A packed google.rpc.Status whose code and message equal these; empty: none.
  package var details: [UInt8]
  /// gRFC A6: how long a client should wait before it tries again; negative: not at all.
  package var pushbackMillis: Int64?

  package init(_ code: Code, _ message: String = "", details: [UInt8] = [], pushbackMillis: Int64? = nil) {
    self.code = code
    self.message = message
    self.details = details
    self.pushbackMillis = pushbackMillis
  }

  /// The trailers of the call, in the order every answer has.
  package var fields: [(name: String, value: [UInt8])] {
    var fields = [(name: "grpc-status", value: Array(String(code.rawValue).utf8))]
    if !message.isEmpty {
      fields.append(("grpc-message", Status.percentEncoded(Status.cut(message, bytesMax: Status.messageBytesMax))))
    }
    if !details.isEmpty { fields.append(("grpc-status-details-bin", Base64.encode(details))) }
    if let pushbackMillis { fields.append(("grpc-retry-pushback-ms", Array(String(pushbackMillis).utf8))) }
    return fields
  }

  /// The beginning of a text. Counted in bytes and not in Characters, of which one may have any number of marks; no
  /// scalar is cut in two.
  package static func cut(_ text: String, bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end])
  }

  /// Bytes 0x20-0x24 and 0x26-0x7E stay as they are; all others become %XX.
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
