// Text owns the one spelling of what people type: e-mail addresses, passwords, phone numbers; and of the network that
// an IP address is of. It is the only importer of utf8proc (Unicode normal forms) and libidn2 (domain names).
// It does not own what an address means for an account, how long a password must be, or the escaping of any format.
// Next: Email.swift.

internal import CUtf8proc

package enum TextError: Error, Equatable, Sendable {
  case invalidEmail(EmailDefect)
  case invalidPhoneNumber
}

/// Which rule an address broke, for the log and the field violation; the reason is INVALID_EMAIL for all of them.
package enum EmailDefect: String, Sendable {
  case tooLong = "TOO_LONG"
  /// Its NFKC form is another address: full-width letters and signs, ligatures, superscripts.
  case compatibilityCharacter = "COMPATIBILITY_CHARACTER"
  case notOneAtSign = "NOT_ONE_AT_SIGN"
  case localPart = "LOCAL_PART"
  case domain = "DOMAIN"
}

/// The spelling of a password that is hashed: NFKC, as NIST SP 800-63B advises, so that one password typed on two
/// keyboards is one password (check 103).
package func normalisePassword(_ password: String) -> String {
  password.utf8.allSatisfy { $0 < 0x80 } ? password : normalForm(password, .nfkc)
}

/// The one spelling of a telephone number (ITU-T E.164): a plus sign and 7 to 15 digits that do not begin with 0. The
/// visual separators of RFC 3966 and spaces are taken out; anything else, a national number too, is refused, and so is
/// the (0) of `+44 (0)20`, which is dialled inside the country only.
package func e164(_ number: String) throws(TextError) -> String {
  guard number.utf8.count <= 64 else { throw .invalidPhoneNumber }
  let typed = trimmed(number)
  let groups = typed.utf8.dropFirst().filter { !" -.".utf8.contains($0) }
  guard !String(decoding: groups, as: UTF8.self).contains("(0)") else { throw .invalidPhoneNumber }
  let digits = groups.filter { !"()".utf8.contains($0) }
  guard typed.utf8.first == UInt8(ascii: "+"), (7...15).contains(digits.count), digits.first != UInt8(ascii: "0"),
    digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
  else { throw .invalidPhoneNumber }
  return "+" + String(decoding: digits, as: UTF8.self)
}

enum NormalForm: Int32 {
  case nfc = 0
  case nfkc = 1
}

/// A normal form of UAX 15. A Swift string is always valid UTF-8, so only memory can be wanting.
func normalForm(_ text: String, _ form: NormalForm) -> String {
  var text = text
  return text.withUTF8 { bytes in
    guard let start = bytes.baseAddress else { return "" }
    var out: UnsafeMutablePointer<UInt8>?
    let count = unsafe lk_normalise(start, bytes.count, form.rawValue, &out)
    defer { unsafe free(out) }
    precondition(count >= 0, "utf8proc failed with \(count)")
    return unsafe String(decoding: UnsafeBufferPointer(start: out, count: count), as: UTF8.self)
  }
}
