internal import Encodings

/// Base64 in either alphabet, padded or not: files of Firebase have one, its interface the other.
package enum AnyBase64 {
  /// nil: it is neither.
  package static func decode(_ text: String) -> [UInt8]? {
    Base64.decode(
      text.utf8.map { byte in
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: byte
        }
      })
  }
}
