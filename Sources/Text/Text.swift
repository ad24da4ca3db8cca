// Text owns the canonical forms of user input: email addresses, passwords, phone numbers and one-time codes. It also
// owns those of IP addresses and networks. It is the only importer of utf8proc (Unicode normal forms) and libidn2
// (domain names).
// It does not own what an email address means for an account, how long a password must be, or the escaping of any
// format.
// Next: Email.swift.

internal import CUtf8proc

package enum TextError: Error, Equatable, Sendable {
  case invalidEmail(EmailDefect)
  case invalidPhoneNumber
}

/// The rule that an email address breaks, for the log and the field violation. The reason is `INVALID_EMAIL` for all
/// rules.
package enum EmailDefect: String, Sendable {
  case tooLong = "TOO_LONG"
  /// The NFKC form is a different address, because of full-width letters and signs, ligatures or superscripts.
  case compatibilityCharacter = "COMPATIBILITY_CHARACTER"
  case notOneAtSign = "NOT_ONE_AT_SIGN"
  case localPart = "LOCAL_PART"
  case domain = "DOMAIN"
}

/// Returns the form of a password that the service hashes: NFKC, as NIST SP 800-63B advises. The same password typed on
/// two keyboards then has one form (check 103).
package func normalisePassword(_ password: String) -> String {
  password.utf8.allSatisfy { $0 < 0x80 } ? password : normalForm(password, .nfkc)
}

enum NormalForm: Int32 {
  case nfc = 0
  case nfkc = 1
}

/// Converts text to a normal form of UAX 15.
func normalForm(_ text: String, _ form: NormalForm) -> String {
  guard let normal = converted(text, form, onlyAssigned: false) else { preconditionFailure("unreachable") }
  return normal
}

/// Returns the NFC form. nil: it is not known, because the text has a character that is newer than utf8proc. Two
/// spellings of one character would stay different.
func knownNFC(_ text: String) -> String? { converted(text, .nfc, onlyAssigned: true) }

/// A Swift string is always valid UTF-8, so only an unassigned character and memory allocation can fail.
private func converted(_ text: String, _ form: NormalForm, onlyAssigned: Bool) -> String? {
  var text = text
  return text.withUTF8 { bytes in
    guard let start = bytes.baseAddress else { return "" }
    var out: UnsafeMutablePointer<UInt8>?
    let count = unsafe lk_normalise(start, bytes.count, form.rawValue, onlyAssigned ? 1 : 0, &out)
    defer { unsafe free(out) }
    if onlyAssigned, count == UTF8PROC_ERROR_NOTASSIGNED { return nil }
    precondition(count >= 0, "utf8proc failed with \(count)")
    return unsafe String(decoding: UnsafeBufferPointer(start: out, count: count), as: UTF8.self)
  }
}
