internal import CIdn2

/// The one spelling of an address, made once at the border and before every comparison (check 24): trimmed, NFC, local
/// part in lower case, domain in the lower-case ASCII of IDNA2008 without its trailing dot.
///
/// Stricter than the RFCs where they allow what only confuses: the local part is a dot-atom (RFC 5322 3.2.3, with the
/// UTF-8 of RFC 6531; `Mailbox.swift` has the exception) and never quoted, the domain has at least two labels and is no
/// address literal. Characters that merely look alike stay different; characters that Unicode calls compatible are
/// refused.
package func normaliseEmail(_ address: String) throws(TextError) -> String {
  // Normal forms cost time in proportion, and no address needs a longer input than this.
  guard address.utf8.count <= 1_024 else { throw .invalidEmail(.tooLong) }
  if isPlainSpelling(address.utf8) {
    try checkShape(address.utf8.span)
    return address
  }
  let composed = normalForm(trimmed(address), .nfc)
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

/// Whether there is nothing to change: nearly every address arrives like this, and then costs two passes over its
/// bytes and no allocation.
private func isPlainSpelling(_ bytes: String.UTF8View) -> Bool {
  let aLabelPrefix: UInt32 = 0x786E_2D2D  // "xn--": to be decoded and checked, or a domain has made-up spellings.
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

/// Lower case can undo composition, so the normal form is made again.
private func lowerCased(_ text: String) -> String {
  normalForm(text.lowercased(), .nfc)
}

/// No character that prints nothing: two addresses that look the same would be two accounts.
private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator:
    false
  default:
    !scalar.properties.isDefaultIgnorableCodePoint
  }
}

/// Nil where a label is not one of IDNA2008. Plain ASCII labels are left to `checkShape`.
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
  // A NUL would end the C string early and hide what follows it.
  guard !label.utf8.contains(0) else { return nil }
  var ascii: UnsafeMutablePointer<CChar>?
  let outcome = unsafe lk_label_to_ascii(label, isALabel ? 1 : 0, &ascii)
  defer { unsafe free(ascii) }
  // A provider's address that has no spelling is passed over; one that there is no memory for must not be.
  precondition(outcome != LK_LABEL_NO_MEMORY, "libidn2 has no memory")
  guard outcome == LK_LABEL_GOOD, let ascii = unsafe ascii else { return nil }
  return unsafe String(cString: ascii)
}

/// RFC 5321 4.5.3.1: 64 bytes before the sign, 254 in all (which leaves the domain below its own limit of 253).
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

/// - Parameter dotsAreFree: whether dots may be repeated and be last; none may be first.
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

/// Controls, space and the specials of RFC 5322 3.2.3.
private func isSpecial(_ byte: UInt8) -> Bool {
  switch byte {
  case ...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: ":"),
    UInt8(ascii: ";"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "\\"),
    UInt8(ascii: "]"):
    true
  default: false
  }
}

/// Letters, digits and inner hyphens (RFC 1123 2.1); a last label of digits alone would be an IPv4 address.
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
