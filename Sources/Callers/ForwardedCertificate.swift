/// The client certificate that a trusted proxy has verified, as it states it in `x-forwarded-client-cert`.
///
/// The form is Envoy's: elements `Key=Value;…`, separated by commas. A value with one of these signs is quoted. Only
/// the last element counts: the nearest proxy wrote it, and the client may have written the others.
package enum ForwardedCertificate {
  /// A field that is malformed or contradicts itself.
  package struct Malformed: Error, Hashable {}

  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  /// Returns the name of the certificate, as in `CallerSettings.san`: the first URI, otherwise the first DNS name. It
  /// is empty if the certificate has neither, and nil if the field is empty.
  package static func name(_ field: [UInt8]) throws(Malformed) -> String? {
    guard !field.isEmpty else { return nil }
    guard let element = try parts(field[...], separator: UInt8(ascii: ",")).last else { return nil }
    var (uris, names, hashes) = ([String](), [String](), Set<String>())
    for pair in try parts(element, separator: UInt8(ascii: ";")) {
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex else { throw Malformed() }
      let value = try unquoted(pair[(equals + 1)...])
      let key = String(decoding: pair[..<equals], as: UTF8.self).lowercased()
      // Envoy states `URI=` for a certificate without a URI.
      if value.isEmpty, key == "uri" || key == "dns" { continue }
      switch key {
      case "uri": uris.append(try visible(value))
      case "dns": names.append(try visible(value).lowercased())
      case "hash": hashes.insert(try digest(value))
      default: break
      }
    }
    // The hash of one certificate has one value.
    guard hashes.count <= 1, !(hashes.isEmpty && uris.isEmpty && names.isEmpty) else { throw Malformed() }
    return uris.first.map { "uri:" + $0 } ?? names.first.map { "dns:" + $0 } ?? ""
  }

  /// Splits at a separator outside of quotes. Throws if a quote is not closed or a part is empty.
  private static func parts(
    _ bytes: ArraySlice<UInt8>, separator: UInt8
  ) throws(Malformed) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    var (start, isQuoted, isEscaped) = (bytes.startIndex, false, false)
    for index in bytes.indices {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, bytes[index] == backslash {
        isEscaped = true
      } else if bytes[index] == quote {
        isQuoted.toggle()
      } else if bytes[index] == separator, !isQuoted {
        parts.append(bytes[start..<index])
        start = index + 1
      }
    }
    guard !isQuoted else { throw Malformed() }
    parts.append(bytes[start...])
    let trimmed = parts.map { $0.drop { $0 == UInt8(ascii: " ") } }
    guard trimmed.allSatisfy({ !$0.isEmpty }) else { throw Malformed() }
    return trimmed
  }

  private static func unquoted(_ value: ArraySlice<UInt8>) throws(Malformed) -> [UInt8] {
    guard value.first == quote else {
      guard !value.contains(quote) else { throw Malformed() }
      return Array(value)
    }
    var plain: [UInt8] = []
    var isEscaped = false
    for byte in value.dropFirst().dropLast() {
      if !isEscaped, byte == backslash {
        isEscaped = true
        continue
      }
      guard isEscaped || byte != quote else { throw Malformed() }
      isEscaped = false
      plain.append(byte)
    }
    guard value.count >= 2, value.last == quote, !isEscaped else { throw Malformed() }
    return plain
  }

  private static func visible(_ value: [UInt8]) throws(Malformed) -> String {
    guard value.count <= 2_048, value.allSatisfy({ 0x21...0x7E ~= $0 }) else { throw Malformed() }
    return String(decoding: value, as: UTF8.self)
  }

  private static func digest(_ value: [UInt8]) throws(Malformed) -> String {
    let text = String(decoding: value, as: UTF8.self)
    guard value.count == 64, text.utf8.allSatisfy({ isHexadecimal($0) }) else { throw Malformed() }
    return text.lowercased()
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"): true
    default: false
    }
  }
}
