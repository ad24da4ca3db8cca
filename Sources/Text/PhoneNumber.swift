/// Returns the canonical form of a phone number (ITU-T E.164): a plus sign and 7 to 15 digits that do not begin with 0.
///
/// Removes characters that separate or decorate the digits of pasted numbers: spaces of all kinds, hyphens, dots,
/// slashes, parentheses and invisible characters. Reads the decimal digits of every script. Drops a trunk zero after
/// the country code, with or without parentheses, if the country has one. Rejects all other input: national numbers,
/// `00` in place of the plus sign, letters and extensions.
package func e164(_ number: String) throws(TextError) -> String {
  guard number.utf8.count <= 128 else { throw .invalidPhoneNumber }
  let typed = plainSpelling(number, without: "./\u{B7}\u{2024}")
  guard typed.hasPrefix("+") else { throw .invalidPhoneNumber }
  let digits = String(typed.dropFirst().filter { $0 != "(" && $0 != ")" })
  guard digits.utf8.allSatisfy(isDigit), let code = CountryCode(of: digits) else { throw .invalidPhoneNumber }
  if let zero = typed.firstRange(of: "(0)") {
    // In another position, or in a country without a trunk zero, it is unclear which number the user dials.
    let before = typed[..<zero.lowerBound].filter { $0 != "(" && $0 != ")" }
    guard before == "+" + code.digits, code.hasTrunkZero else { throw .invalidPhoneNumber }
  }
  var national = digits.dropFirst(code.digits.count)
  if national.hasPrefix("0") {
    guard !code.neverPrecedesZero else { throw .invalidPhoneNumber }
    if code.hasTrunkZero { national = national.dropFirst() }
    guard !code.hasTrunkZero || !national.hasPrefix("0") else { throw .invalidPhoneNumber }
  }
  guard 7...15 ~= code.digits.count + national.count else { throw .invalidPhoneNumber }
  return "+" + code.digits + national
}

/// Returns the form of a one-time code or recovery code that the service compares.
///
/// It has no spaces, hyphens or invisible characters. Digits and letters are ASCII, and letters are in lower case. It
/// does not depend on how the user pastes or writes down the code.
package func oneTimeCode(_ code: String) -> String {
  plainSpelling(code, without: "").lowercased()
}

private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// Removes spaces, dashes, invisible characters and `separators`. Converts the decimal digits of every script, and
/// full-width letters and signs, to ASCII.
private func plainSpelling(_ text: String, without separators: String) -> String {
  var plain = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    let scalar = ascii(of: scalar) ?? scalar
    switch scalar.properties.generalCategory {
    case .dashPunctuation, .spaceSeparator, .lineSeparator, .paragraphSeparator, .format: continue
    case .control where scalar.properties.isWhitespace: continue
    default: break
    }
    // U+2212 is the minus sign.
    guard scalar != "\u{2212}", !scalar.properties.isDefaultIgnorableCodePoint,
      !separators.unicodeScalars.contains(scalar)
    else { continue }
    plain.append(scalar)
  }
  return String(plain)
}

private func ascii(of scalar: Unicode.Scalar) -> Unicode.Scalar? {
  if scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue, 0...9 ~= value {
    return Unicode.Scalar(UInt8(ascii: "0") + UInt8(value))
  }
  // Full-width forms are in the order of ASCII.
  return 0xFF01...0xFF5E ~= scalar.value ? Unicode.Scalar(scalar.value - 0xFF01 + 0x21) : nil
}

/// A country code of E.164. No code is a prefix of another.
private struct CountryCode {
  let digits: String

  /// Reads the code of a number. Returns nil if the number does not begin with one.
  init?(of number: String) {
    guard let first = number.utf8.first, first != UInt8(ascii: "0") else { return nil }
    if number.hasPrefix("1") || number.hasPrefix("7") {
      digits = String(number.prefix(1))
    } else {
      digits = String(number.prefix(CountryCode.ofTwoDigits.contains(String(number.prefix(2))) ? 2 : 3))
    }
  }

  /// Whether users in the country dial a 0 that is not part of the international number. In some countries, such as
  /// Italy, the 0 is part of the number.
  var hasTrunkZero: Bool { CountryCode.withTrunkZero.contains(digits) }

  /// Whether no number with this code begins with 0, as in North America, Russia and Kazakhstan.
  var neverPrecedesZero: Bool { digits == "1" || digits == "7" }

  private static func codes(_ text: String) -> Set<String> { Set(text.split(separator: " ").map { String($0) }) }

  private static let ofTwoDigits = codes(
    "20 27 28 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 83 84 "
      + "86 89 90 91 92 93 94 95 98")

  /// Codes of countries whose national prefix is 0 and whose numbers do not begin with 0 (ITU-T, Dialling Procedures).
  private static let withTrunkZero = codes(
    "20 27 31 32 33 40 41 43 44 46 49 51 54 55 57 58 60 61 62 63 64 66 81 82 84 86 90 91 92 93 94 95 98 211 212 213 "
      + "218 231 232 233 234 243 249 250 251 254 255 256 260 261 262 263 264 291 353 355 358 359 373 374 380 381 382 "
      + "383 385 386 387 389 421 590 593 594 595 596 598 855 856 880 886 961 962 963 964 966 967 970 971 972 976 977 "
      + "994 995 996")
}
