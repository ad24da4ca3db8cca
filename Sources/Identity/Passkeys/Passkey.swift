import Encodings
package import Sealed
package import Store

/// A passkey: its public key, and what the rules of section 16 need.
///
/// An identity has it as its column `passkey`, and a second factor as its secret. Nothing in it is secret.
package struct Passkey: Hashable, Sendable {
  package var relyingPartyID: String
  /// 1 to 1,023 bytes.
  package var credentialID: [UInt8]
  /// Random, and the same for all passkeys that one account registered.
  package var userHandle: [UInt8]
  /// As the verification takes it.
  package var publicKey: [UInt8]
  /// COSE algorithm, such as -7.
  package var algorithm: Int64
  package var signCount: Int64
  package var backupEligible: Bool
  package var backedUp: Bool
  /// Whether the verification of the user counts as a factor (`uvInitialized` of WebAuthn 4): the authenticator did it
  /// at the registration, or in a sign-in with another second factor (P11).
  package var userVerified: Bool
  /// The model of the authenticator. Empty: unknown.
  package var aaguid: [UInt8]
  package var transports: [String]
  package var attestationFormat: String
  package var lastUsedAt: Timestamp?

  package init(
    relyingPartyID: String, credentialID: [UInt8], userHandle: [UInt8], publicKey: [UInt8], algorithm: Int64,
    signCount: Int64 = 0, backupEligible: Bool = false, backedUp: Bool = false, userVerified: Bool = false,
    aaguid: [UInt8] = [], transports: [String] = [], attestationFormat: String = "none"
  ) {
    self.relyingPartyID = relyingPartyID
    self.credentialID = credentialID
    self.userHandle = userHandle
    self.publicKey = publicKey
    self.algorithm = algorithm
    self.signCount = signCount
    self.backupEligible = backupEligible
    self.backedUp = backedUp
    self.userVerified = userVerified
    self.aaguid = aaguid
    self.transports = transports
    self.attestationFormat = attestationFormat
  }
}

extension Passkey {
  package init?(of identity: IdentityRecord) { self.init(stored: identity.passkey) }

  init?(of assertion: Assertion) { self.init(stored: assertion.passkey) }

  private init?(stored: [UInt8]?) {
    guard let stored, let passkey = Passkey(packed: stored) else { return nil }
    self = passkey
  }

  /// Returns the passkey after two uses, in the order in which they were written. The larger sign count stays, because
  /// the uses may have been verified in the other order.
  /// - Parameter trustingVerification: the new use was followed by another second factor, so that its verification of
  ///   the user counts from now on.
  static func later(_ old: [UInt8]?, _ new: [UInt8]?, trustingVerification: Bool) -> [UInt8]? {
    guard let before = Passkey(stored: old), var after = Passkey(stored: new) else { return new }
    after.signCount = max(before.signCount, after.signCount)
    if !trustingVerification { after.userVerified = before.userVerified }
    return after.packed
  }
}

extension IdentityRecord {
  package var isPasskey: Bool { key.providerID == SignInMethods.passkey }

  /// Whether an authenticator counts the signatures of this passkey. Concurrent uses must then see each other's count.
  var countsSignatures: Bool { Passkey(of: self).map { $0.signCount > 0 } ?? false }
}

extension AccountState {
  package var hasPasskeys: Bool { identities.contains { $0.isPasskey } }

  /// The passkeys that sign in, in the order of their registration.
  package var passkeys: [IdentityRecord] { identities.filter(\.isPasskey) }

  /// The user handle of the account, if it has a passkey.
  var userHandle: [UInt8]? { passkeys.lazy.compactMap { Passkey(of: $0)?.userHandle }.first }

  func passkeyLimit(_ policy: Policy) -> Failure? {
    let most = policy.passkeysPerAccountMax
    guard passkeys.count >= most else { return nil }
    return Failure(.passkeyLimit, hint: "The limit is \(most) passkeys; remove one first.")
  }
}

extension Environment {
  /// The id of a passkey, which is the subject of its identity.
  func passkeyID(of credentialID: [UInt8]) -> String { Base64URL.encode(cryptography.sha256(credentialID).bytes) }

  func identityKey(of credentialID: [UInt8]) -> IdentityKey {
    IdentityKey(providerID: SignInMethods.passkey, subject: passkeyID(of: credentialID))
  }

  /// What a registration spends, so that no credential id is registered twice (P6).
  ///
  /// Authenticators never create the same id again, so the token outlives the passkey, and every account.
  func singleUse(of credentialID: [UInt8], now: Timestamp) -> SingleUse {
    let year: Int64 = 365 * 86_400_000
    return SingleUse(
      digest: cryptography.sha256(Array("passkey ".utf8) + credentialID), expiresAt: now.adding(millis: 100 * year))
  }
}

extension ImportRow.Identity {
  /// Returns nil if the id is not that of the passkey.
  package init?(_ passkey: Passkey, id: String, name: String, _ environment: Environment) {
    let key = environment.identityKey(of: passkey.credentialID)
    guard key.subject == id, 1...1_023 ~= passkey.credentialID.count else { return nil }
    self.init(key: key, email: nil, displayName: name, photoURL: "")
    self.passkey = passkey
  }
}

extension Failure {
  static let passkeyExists = Failure(
    .passkeyExists, field: "credential", hint: "This passkey was registered before; register a new one.")
  static let enrolledPasskeyExists = Failure(
    .passkeyExists, field: "passkey_credential_json", hint: passkeyExists.hint)
  static let noSuchPasskey = Failure(
    .passkeyNotFound, field: "passkey_id", hint: "The account has no passkey with this id.")
  static let passkeysAreRemovedByID = Failure(
    .invalidField, field: "provider_id", hint: "Call PasskeyService.RemovePasskey with the id of one passkey.")

  /// The failure for a response of an authenticator.
  /// - Parameter check: the stable name of the check that failed.
  package static func invalidPasskey(_ check: String) -> Failure {
    Failure(
      .invalidPasskey, field: "credential", hint: "The authenticator's response is not valid; start again.",
      metadata: ["check": check], debug: check)
  }
}

// MARK: sealed form

extension Passkey: SealedContent {
  package init(_ message: Sealed.Passkey) throws {
    self.init(
      relyingPartyID: try message.rpID.required(), credentialID: try message.credentialID.required(),
      userHandle: try message.userHandle.required(), publicKey: try message.publicKey.required(),
      algorithm: message.algorithm, signCount: message.signCount, backupEligible: message.backupEligible,
      backedUp: message.backedUp, userVerified: message.userVerified, aaguid: message.aaguid,
      transports: message.transports, attestationFormat: message.attestationFormat)
    lastUsedAt = message.lastUsedAtMillis.map { Timestamp(millis: $0) }
  }

  package var message: Sealed.Passkey {
    Sealed.Passkey(
      credentialID: credentialID, userHandle: userHandle, publicKey: publicKey, algorithm: algorithm,
      signCount: signCount, backupEligible: backupEligible, backedUp: backedUp, userVerified: userVerified,
      aaguid: aaguid, transports: transports, attestationFormat: attestationFormat,
      lastUsedAtMillis: lastUsedAt?.millis, rpID: relyingPartyID)
  }
}
