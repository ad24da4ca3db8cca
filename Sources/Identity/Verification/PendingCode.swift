package import Sealed

/// The sealed content of a code's row. The code of a link is the row's secret. A code that the user types is `digits`.
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
  /// The purpose of a code by email, and of a link in the same email; nil: a link alone, or a phone code.
  package var emailPurpose: EmailCodePurpose?
  /// The session that requested a code by email; empty: none.
  package var sessionID: String
  /// Whether the email of the code also has a link.
  package var carriesLink: Bool
  /// Whether the link is an invitation. It ends when a user enters the account by another way.
  package var isInvitation: Bool

  package init(
    purpose: FlowPurpose = .signIn, accountID: String = "", digits: String = "", continueURI: String = "",
    locale: String = "", anyBinding: Bool = false, emailPurpose: EmailCodePurpose? = nil, sessionID: String = "",
    carriesLink: Bool = false, isInvitation: Bool = false
  ) {
    self.purpose = purpose
    self.accountID = accountID
    self.digits = digits
    self.continueURI = continueURI
    self.locale = locale
    self.anyBinding = anyBinding
    self.emailPurpose = emailPurpose
    self.sessionID = sessionID
    self.carriesLink = carriesLink
    self.isInvitation = isInvitation
  }
}

// MARK: sealed form

extension PendingCode: SealedContent {
  package init(_ message: Sealed.PendingCode) throws {
    self.init(
      purpose: try FlowPurpose(message.purpose).required(), accountID: message.accountID, digits: message.digits,
      continueURI: message.continueURI, locale: message.locale, anyBinding: message.anyBinding,
      emailPurpose: EmailCodePurpose(message.emailPurpose), sessionID: message.sessionID,
      carriesLink: message.carriesLink, isInvitation: message.isInvitation)
  }

  package var message: Sealed.PendingCode {
    Sealed.PendingCode(
      purpose: purpose.message, accountID: accountID, digits: digits, continueURI: continueURI, locale: locale,
      anyBinding: anyBinding, emailPurpose: emailPurpose?.message, sessionID: sessionID, carriesLink: carriesLink,
      isInvitation: isInvitation)
  }
}
