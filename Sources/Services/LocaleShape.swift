extension Shape {
  /// Maximum length of a language tag in bytes: the recommended minimum buffer (RFC 5646, 4.4.1).
  static let localeBytesMax = 35

  /// Returns the language tag (BCP 47) at the beginning of a caller's `locale`.
  ///
  /// Platforms spell locales in several ways: `de-AT`, `de_AT`, `de_AT.UTF-8`, `de-AT,de;q=0.9`. An unknown spelling
  /// must not prevent the message, so no value is rejected. Everything after the tag is cut off. An empty tag selects
  /// the default language.
  static func locale(_ text: String) -> String {
    var tag = ""
    for scalar in text.unicodeScalars.prefix(localeBytesMax + 1) {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-": tag.unicodeScalars.append(scalar)
      case "_": tag += "-"
      default: return tag
      }
    }
    guard tag.utf8.count > localeBytesMax else { return tag }
    // Keep whole subtags only. The beginning of a subtag may denote another language.
    return tag.lastIndex(of: "-").map { String(tag[..<$0]) } ?? ""
  }
}
