/// What the row of a code keeps sealed beside its columns. Of a link the code is the handle; of a telephone it is the
/// digits in here.
package struct HeldCode: Hashable, Sendable {
  /// What a phone code was asked for: it ends in nothing else (check 106).
  package var purpose: FlowPurpose
  /// The account in whose session it was asked for; empty: none.
  package var accountID: String
  package var digits: String
  /// Where the link of a change of address led, so that the way back leads there too.
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

// MARK: the bytes under the seal

extension HeldCode {
  private static let format: UInt8 = 1

  package var packed: [UInt8] {
    var packer = Packer()
    packer.append(HeldCode.format)
    packer.append(purpose.rawValue)
    packer.append(accountID)
    packer.append(digits)
    packer.append(continueURI)
    packer.append(locale)
    return packer.bytes
  }

  package init?(packed: [UInt8]) {
    var unpacker = Unpacker(packed)
    guard unpacker.byte() == HeldCode.format, let purpose = unpacker.byte().flatMap(FlowPurpose.init(rawValue:)),
      let accountID = unpacker.text(), let digits = unpacker.text(), let continueURI = unpacker.text(),
      let locale = unpacker.text(), unpacker.isAtEnd
    else { return nil }
    self.init(
      purpose: purpose, accountID: accountID, digits: digits, continueURI: continueURI, locale: locale)
  }
}
