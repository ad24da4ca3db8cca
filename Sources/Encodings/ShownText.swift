/// Free text that programs show to users: names, labels, user agents. The same rule applies to text from every source.
package enum ShownText {
  /// Reports whether a character moves, hides or reorders the text around it.
  ///
  /// These are controls, line and paragraph separators, bidi controls, the byte order mark and noncharacters. Joiners
  /// (U+200C, U+200D), variation selectors and tag characters are allowed, because emoji and several scripts need them.
  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x20...0x7E: false
    case 0...0x1F, 0x7F...0x9F: true
    case 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x206F, 0xFEFF, 0xFFF9...0xFFFB, 0xE0001: true
    case 0xFDD0...0xFDEF: true
    default: scalar.value & 0xFFFE == 0xFFFE
    }
  }

  /// Removes control characters. Those that separate words or lines become one space, except at either end.
  package static func cleaned(_ text: String) -> String {
    guard !isPlain(text) else { return text }
    var kept = String.UnicodeScalarView()
    var separates = false
    for scalar in text.unicodeScalars {
      if isControl(scalar) {
        separates = separates || isSeparator(scalar)
        continue
      }
      if separates, scalar != " ", let last = kept.last, last != " " { kept.append(" ") }
      separates = false
      kept.append(scalar)
    }
    return String(kept)
  }

  /// Removes control characters without a replacement, as browsers do in a URL.
  package static func withoutControls(_ text: String) -> String {
    isPlain(text) ? text : String(String.UnicodeScalarView(text.unicodeScalars.filter { !isControl($0) }))
  }

  /// Returns the longest prefix of a text that has at most `bytesMax` bytes of UTF-8 and ends between two scalars.
  package static func cut(_ text: String, bytesMax: Int) -> String {
    guard text.utf8.count > bytesMax else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: bytesMax)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end])
  }

  /// Reports whether the text has no control characters. Nearly every text is ASCII without them.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { 0x20...0x7E ~= $0 } || !text.unicodeScalars.contains(where: isControl)
  }

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x9...0xD, 0x85, 0x2028, 0x2029: true
    default: false
    }
  }
}
