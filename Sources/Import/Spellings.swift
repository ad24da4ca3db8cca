internal import Encodings

/// Base64 in either alphabet, padded or not. Firebase's files use one alphabet, its API the other.
package enum AnyBase64 {
  /// Returns nil if the text is neither.
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
