package import Store

/// The sealed content of a pending row: the verified assertion and the request of its call.
///
/// The seal prevents changes between assertion and completion. The provider's own tokens are not included.
package struct PendingAssertion: Hashable, Sendable {
  /// The action of the completion.
  package enum Intent: UInt8, Sendable, CaseIterable {
    /// Rows of purpose `link` and `credential_in_use`. The purpose determines the action.
    case present
    // Rows of purpose `second_factor`: the pending call, which is decided again after the factor passes.
    case signIn
    case link
    case reauthenticate
  }

  package var intent = Intent.present
  /// For a password: provider id "password", with the account id or email address as the subject.
  @Boxed package var assertion: Assertion
  package var firstFactor: FirstFactor
  /// The provider's token, which the completion spends. Until then presenting it again has no further effect.
  package var singleUse: SingleUse?
  /// The session of the call. Link and Reauthenticate only.
  package var sessionID: String?
  /// The password hash to set, by Link or as the upgrade of an older hash.
  package var passwordHash: String?
  /// Another pending row, which the call completes.
  package var completing: Digest?
  package var existingOnly = false
  package var claimAddress = false
  /// The code that was sent for this call, if its second factor is a phone.
  @Held package var sentCode: SentCode?

  package init(_ assertion: Assertion, firstFactor: FirstFactor, singleUse: SingleUse? = nil) {
    self.init(Boxed(wrappedValue: assertion), firstFactor: firstFactor, singleUse: singleUse)
  }

  init(_ assertion: Boxed<Assertion>, firstFactor: FirstFactor, singleUse: SingleUse? = nil) {
    _assertion = assertion
    self.firstFactor = firstFactor
    self.singleUse = singleUse
  }
}

// MARK: sealed binary form

extension PendingAssertion {
  /// The format without a sent code at the end. Rows of earlier versions stay readable.
  private static let format: UInt8 = 1
  private static let formatWithCode: UInt8 = 2

  package var packed: [UInt8] {
    var packer = Packer()
    packer.append(sentCode == nil ? PendingAssertion.format : PendingAssertion.formatWithCode)
    packer.append(intent.rawValue)
    packer.append(assertion.identity.providerID)
    packer.append(assertion.identity.subject)
    packer.append(assertion.email)
    packer.append(UInt8(assertion.tier.rawValue))
    packer.append(assertion.displayName)
    packer.append(assertion.photoURL)
    packer.append(assertion.username)
    packer.append(assertion.profileJSON)
    packer.append(firstFactor.signInProviderID)
    packer.append(Int64(firstFactor.methods.count))
    for method in firstFactor.methods { packer.append(method) }
    packer.append(firstFactor.claimsJSON)
    packer.append(singleUse?.digest.bytes)
    packer.append(singleUse?.expiresAt.millis ?? 0)
    packer.append(sessionID)
    packer.append(passwordHash)
    packer.append(completing?.bytes)
    packer.append(UInt8(existingOnly ? 1 : 0))
    packer.append(UInt8(claimAddress ? 1 : 0))
    if let sentCode { packer.append(sentCode.packed) }
    return packer.bytes
  }

  package init?(packed: [UInt8]) {
    var unpacker = Unpacker(packed)
    let format = unpacker.byte()
    guard format == PendingAssertion.format || format == PendingAssertion.formatWithCode,
      let intent = unpacker.byte().flatMap(Intent.init(rawValue:)),
      let assertion = unpacker.assertion(), let firstFactor = unpacker.firstFactor(),
      let spent = unpacker.optionalDigest(), let spentUntilMillis = unpacker.number(),
      let sessionID = unpacker.optionalText(), let passwordHash = unpacker.optionalText(),
      let completing = unpacker.optionalDigest(), let existingOnly = unpacker.flag(),
      let claimAddress = unpacker.flag(), spent != nil || spentUntilMillis == 0
    else { return nil }
    var sent: SentCode?
    if format == PendingAssertion.formatWithCode {
      guard let code = unpacker.field().flatMap(SentCode.init(packed:)) else { return nil }
      sent = code
    }
    guard unpacker.isAtEnd else { return nil }
    self.init(assertion, firstFactor: firstFactor)
    self.intent = intent
    singleUse = spent.map { SingleUse(digest: $0, expiresAt: Timestamp(millis: spentUntilMillis)) }
    self.sessionID = sessionID
    self.passwordHash = passwordHash
    self.completing = completing
    self.existingOnly = existingOnly
    self.claimAddress = claimAddress
    sentCode = sent
  }
}

extension Unpacker {
  fileprivate mutating func assertion() -> Assertion? {
    guard let providerID = text(), let subject = text(), let email = optionalText(),
      let tier = byte().flatMap({ TrustTier(rawValue: Int($0)) }), let displayName = text(), let photoURL = text(),
      let username = text(), let profileJSON = text()
    else { return nil }
    return Assertion(
      identity: IdentityKey(providerID: providerID, subject: subject), email: email, tier: tier,
      displayName: displayName, photoURL: photoURL, username: username, profileJSON: profileJSON)
  }

  fileprivate mutating func firstFactor() -> FirstFactor? {
    guard let signInProviderID = text(), let count = number(), 0...16 ~= count else { return nil }
    var methods: [String] = []
    for _ in 0..<count {
      guard let method = text() else { return nil }
      methods.append(method)
    }
    guard let claimsJSON = text() else { return nil }
    return FirstFactor(signInProviderID: signInProviderID, methods: methods, claimsJSON: claimsJSON)
  }

  fileprivate mutating func optionalDigest() -> Digest?? {
    guard let field = optionalField() else { return nil }
    guard let field else { return .some(nil) }
    return field.count == 32 ? .some(Digest(field)) : nil
  }
}
