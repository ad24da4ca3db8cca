internal import CIdn2

/// Returns the canonical form of an email address. The service applies it once to input, and before every comparison
/// (check 24).
///
/// The canonical form is trimmed and in NFC. Its local part is in lower case. Its domain is the lower-case ASCII of
/// IDNA2008 without the trailing dot.
///
/// The rules are stricter than the RFCs where the RFCs allow forms that only cause confusion:
/// - The local part is a dot-atom (RFC 5322 3.2.3, with the UTF-8 of RFC 6531) and never quoted. `LocalPart.swift` has
///   the exception.
/// - The domain has at least two labels and is not an address literal.
/// - Characters that merely look alike stay different. Unicode compatibility characters are rejected.
package func normaliseEmail(_ address: String) throws(TextError) -> String {
  // Normalisation takes time proportional to its input, and no valid address needs a longer input than this.
  guard address.utf8.count <= 1_024 else { throw .invalidEmail(.tooLong) }
  if isPlainSpelling(address.utf8) {
    try checkShape(address.utf8.span)
    return address
  }
  guard let composed = knownNFC(trimmed(address)) else { throw .invalidEmail(.localPart) }
  guard Array(composed.utf8) == Array(normalForm(composed, .nfkc).utf8) else {
    throw .invalidEmail(.compatibilityCharacter)
  }
  let parts = composed.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
  guard parts.count == 2 else { throw .invalidEmail(.notOneAtSign) }
  let local = lowerCased(String(parts[0]) ?? "")
  guard local.unicodeScalars.allSatisfy(isVisible) else { throw .invalidEmail(.localPart) }
  guard let domain = asciiDomain(lowerCased(String(parts[1]) ?? "")) else { throw .invalidEmail(.domain) }
  let normalised = local + "@" + domain
  try checkShape(normalised.utf8.span)
  return normalised
}

/// Returns the domain of an address, or "" without a sign.
///
/// By bytes: some letters of a local part, such as U+0D4E, form one `Character` with the sign, and a search for the
/// character "@" does not find it.
package func emailDomain(_ address: String) -> Substring {
  guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return "" }
  return address[address.utf8.index(after: at)...]
}

/// Returns the canonical form of the domain of an address; nil: no address can have it.
package func canonicalEmailDomain(_ domain: some StringProtocol) -> String? {
  guard !domain.utf8.contains(UInt8(ascii: "@")), let email = try? normaliseEmail("x@" + domain) else { return nil }
  return String(emailDomain(email))
}

/// Reports whether the address needs no conversion. Nearly every address needs none, which costs two passes over its
/// bytes and no allocation.
private func isPlainSpelling(_ bytes: String.UTF8View) -> Bool {
  let aLabelPrefix: UInt32 = 0x786E_2D2D  // "xn--": must be decoded and checked, or invalid spellings pass.
  var lastFour: UInt32 = 0
  for byte in bytes {
    lastFour = lastFour << 8 | UInt32(byte)
    let isUpperCase = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    guard (0x21...0x7E).contains(byte), !isUpperCase, lastFour != aLabelPrefix else { return false }
  }
  return lastFour & 0xFF != UInt32(UInt8(ascii: "."))
}

func trimmed(_ text: String) -> String {
  let scalars = text.unicodeScalars.drop(while: \.properties.isWhitespace)
  guard let last = scalars.lastIndex(where: { !$0.properties.isWhitespace }) else { return "" }
  return String(scalars[...last])
}

/// Converts text to lower case, then to NFC again, because lower-casing can undo composition.
private func lowerCased(_ text: String) -> String {
  normalForm(text.lowercased(), .nfc)
}

/// Reports whether a character is visible. Two addresses that look the same must not be two accounts.
private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator:
    false
  default:
    !scalar.properties.isDefaultIgnorableCodePoint
  }
}

/// Converts a domain to ASCII. Returns nil if a label is not valid in IDNA2008. `checkShape` checks plain ASCII labels.
private func asciiDomain(_ name: String) -> String? {
  let name = name.hasSuffix(".") ? name.dropLast() : name[...]
  var labels: [String] = []
  for label in name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
    guard let label = String(label), let ascii = asciiLabel(label) else { return nil }
    labels.append(ascii)
  }
  return labels.joined(separator: ".")
}

private func asciiLabel(_ label: String) -> String? {
  let isALabel = label.hasPrefix("xn--")
  guard isALabel || !label.utf8.allSatisfy({ $0 < 0x80 }) else { return label }
  // A NUL would end the C string early and hide the bytes after it.
  guard !label.utf8.contains(0) else { return nil }
  var ascii: UnsafeMutablePointer<CChar>?
  let outcome = unsafe lk_label_to_ascii(label, isALabel ? 1 : 0, &ascii)
  defer { unsafe free(ascii) }
  // `Providers` skips an invalid email address from a provider. It must not skip a valid one for lack of memory.
  precondition(outcome != LK_LABEL_NO_MEMORY, "libidn2 has no memory")
  guard outcome == LK_LABEL_GOOD, let ascii = unsafe ascii else { return nil }
  return unsafe String(cString: ascii)
}

/// Checks the syntax and the length limits of RFC 5321 4.5.3.1: 64 bytes before the sign and 254 in total. The total
/// keeps the domain below its own limit of 253.
private func checkShape(_ bytes: Span<UInt8>) throws(TextError) {
  guard bytes.count <= 254 else { throw .invalidEmail(.tooLong) }
  let at = UInt8(ascii: "@")
  guard let sign = bytes.indices.first(where: { bytes[$0] == at }) else { throw .invalidEmail(.notOneAtSign) }
  let domain = bytes.extracting((sign + 1)...)
  guard !domain.indices.contains(where: { domain[$0] == at }) else { throw .invalidEmail(.notOneAtSign) }
  let local = bytes.extracting(..<sign)
  guard isDotAtom(local) || (hasFreeDots(domain) && isDotAtom(local, dotsAreFree: true)) else {
    throw .invalidEmail(.localPart)
  }
  guard isHostName(domain) else { throw .invalidEmail(.domain) }
}

/// Reports whether the bytes are a dot-atom of at most 64 bytes.
/// - Parameter dotsAreFree: whether dots may repeat and be last. A dot must never be first.
private func isDotAtom(_ bytes: Span<UInt8>, dotsAreFree: Bool = false) -> Bool {
  let dot = UInt8(ascii: ".")
  var previous = dot
  for index in bytes.indices {
    let byte = bytes[index]
    guard byte != dot || previous != dot || (dotsAreFree && index > 0) else { return false }
    guard !isSpecial(byte) else { return false }
    previous = byte
  }
  return (previous != dot || (dotsAreFree && !bytes.isEmpty)) && bytes.count <= 64
}

/// Reports whether a byte is a control character, a space, or one of the specials of RFC 5322 3.2.3.
private func isSpecial(_ byte: UInt8) -> Bool {
  switch byte {
  case ...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ":"),
    UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "\\"),
    UInt8(ascii: "]"):
    true
  default: false
  }
}

/// Reports whether the bytes are a host name: letters, digits and inner hyphens (RFC 1123 2.1). Rejects a last label of
/// only digits, which would be an IPv4 address.
private func isHostName(_ bytes: Span<UInt8>) -> Bool {
  let dot = UInt8(ascii: ".")
  let hyphen = UInt8(ascii: "-")
  var labelCount = 1
  var length = 0
  var onlyDigits = true
  var previous = dot
  for index in bytes.indices {
    let byte = bytes[index]
    if byte == dot {
      guard (1...63).contains(length), previous != hyphen else { return false }
      labelCount += 1
      length = 0
      onlyDigits = true
    } else {
      let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      guard isDigit || isLetter || (byte == hyphen && length > 0) else { return false }
      onlyDigits = onlyDigits && isDigit
      length += 1
    }
    previous = byte
  }
  return (1...63).contains(length) && previous != hyphen && labelCount >= 2 && !onlyDigits
}
