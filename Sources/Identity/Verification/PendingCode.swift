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

  package init(
    purpose: FlowPurpose = .signIn, accountID: String = "", digits: String = "", continueURI: String = "",
    locale: String = ""
  ) {
    self.purpose = purpose
    self.accountID = accountID
    self.digits = digits
    self.continueURI = continueURI
    self.locale = locale
  }
}

// MARK: sealed binary form

extension PendingCode {
  private static let format: UInt8 = 1

  package var packed: [UInt8] {
    var packer = Packer()
    packer.append(PendingCode.format)
    packer.append(purpose.rawValue)
    packer.append(accountID)
    packer.append(digits)
    packer.append(continueURI)
    packer.append(locale)
    return packer.bytes
  }

  package init?(packed: [UInt8]) {
    var unpacker = Unpacker(packed)
    guard unpacker.byte() == PendingCode.format, let purpose = unpacker.byte().flatMap(FlowPurpose.init(rawValue:)),
      let accountID = unpacker.text(), let digits = unpacker.text(), let continueURI = unpacker.text(),
      let locale = unpacker.text(), unpacker.isAtEnd
    else { return nil }
    self.init(
      purpose: purpose, accountID: accountID, digits: digits, continueURI: continueURI, locale: locale)
  }
}
