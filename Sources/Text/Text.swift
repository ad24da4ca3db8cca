// Text owns the one spelling of what users type: email addresses, passwords, phone numbers, one-time codes; and of IP
// addresses and their networks. It is the only importer of utf8proc (Unicode normal forms) and libidn2 (domain names).
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
