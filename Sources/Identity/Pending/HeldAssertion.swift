package import Store

/// What a pending row keeps sealed: the assertion as it was verified, and what the call that brought it asked for.
///
/// Nothing of it can be edited between assertion and completion, since it is only ever read back from under the seal.
/// The provider's own tokens are no part of it.
package struct HeldAssertion: Hashable, Sendable {
  /// What the completion is to do with the assertion.
  package enum Intent: UInt8, Sendable, CaseIterable {
    /// Rows of purpose `link` and `credential_in_use`: the handle itself says what happens.
    case present
    // Rows of purpose `second_factor`: what the call wanted, to be decided again once the factor has passed.
    case signIn
    case link
    case reauthenticate
  }

  package var intent = Intent.present
  /// Of a password: provider id "password", and as its subject the account or the address.
  @Boxed package var assertion: Assertion
  package var firstFactor: FirstFactor
  /// The provider's token is spent by the completion: until then its bearer may bring it again and gets no further.
  package var singleUse: SingleUse?
  /// The caller's session, of Link and Reauthenticate.
  package var sessionID: String?
  /// The hash of a password that is to be set by Link, or by the upgrade of an older hash.
  package var passwordHash: String?
  /// The pending row that the held call was about to complete.
  package var completing: Digest?
  package var existingOnly = false
  package var claimAddress = false
  /// The code that was sent for this call, where its second factor is a telephone.
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

// MARK: the bytes under the seal

extension HeldAssertion {
  /// With and without a sent code at the end; what a version of before wrote is read as well.
  private static let format: UInt8 = 1
  private static let formatWithCode: UInt8 = 2

  package var packed: [UInt8] {
    var packer = Packer()
    packer.append(sentCode == nil ? HeldAssertion.format : HeldAssertion.formatWithCode)
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
    guard format == HeldAssertion.format || format == HeldAssertion.formatWithCode,
      let intent = unpacker.byte().flatMap(Intent.init(rawValue:)),
      let assertion = unpacker.assertion(), let firstFactor = unpacker.firstFactor(),
      let spent = unpacker.optionalDigest(), let spentUntilMillis = unpacker.number(),
      let sessionID = unpacker.optionalText(), let passwordHash = unpacker.optionalText(),
      let completing = unpacker.optionalDigest(), let existingOnly = unpacker.flag(),
      let claimAddress = unpacker.flag(), spent != nil || spentUntilMillis == 0
    else { return nil }
    var sent: SentCode?
    if format == HeldAssertion.formatWithCode {
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
