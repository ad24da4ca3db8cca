package import Sealed

/// The sealed content of a code's row. The code of a link is the row's secret, and the code of a phone is `digits`.
package struct PendingCode: Hashable, Sendable {
  /// The purpose of a phone code, which is valid for no other purpose (check 106).
  package var purpose: FlowPurpose
  /// The account of the session that requested the code; empty: none.
  package var accountID: String
  package var digits: String
  /// The page of the link of an email change, which the revert link opens too.
  package var continueURI: String
  package var locale: String
  /// Whether the code is bound to no browser, because an administrator created it.
  package var anyBinding: Bool

  package init(
    purpose: FlowPurpose = .signIn, accountID: String = "", digits: String = "", continueURI: String = "",
    locale: String = "", anyBinding: Bool = false
  ) {
    self.purpose = purpose
    self.accountID = accountID
    self.digits = digits
    self.continueURI = continueURI
    self.locale = locale
    self.anyBinding = anyBinding
  }
}

// MARK: sealed form

extension PendingCode: SealedContent {
  package init(_ message: Sealed.PendingCode) throws {
    self.init(
      purpose: try FlowPurpose(message.purpose).required(), accountID: message.accountID, digits: message.digits,
      continueURI: message.continueURI, locale: message.locale, anyBinding: message.anyBinding)
  }

  package var message: Sealed.PendingCode {
    Sealed.PendingCode(
      purpose: purpose.message, accountID: accountID, digits: digits, continueURI: continueURI, locale: locale,
      anyBinding: anyBinding)
  }
}
