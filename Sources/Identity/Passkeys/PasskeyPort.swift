package import Store

/// Options and verification of passkeys (WebAuthn), for the configured relying parties.
///
/// Nothing is stored, and nothing waits. Each `verify` throws `Failure(.invalidPasskey)`, which names the failed check.
package protocol Passkeys: Sendable {
  /// The relying parties of a caller, its default first. Empty: it may use no passkeys.
  func relyingPartyIDs(of caller: CallerName) -> [String]
  /// Returns `PublicKeyCredentialCreationOptionsJSON`.
  func creationOptions(_ order: PasskeyCreation) throws -> String
  /// Returns `PublicKeyCredentialRequestOptionsJSON`.
  func requestOptions(_ order: PasskeyRequest) throws -> String
  /// Verifies a `RegistrationResponseJSON`.
  func verifyRegistration(_ json: String, answering challenge: PasskeyChallenge) throws -> Passkey
  /// Reads the credential id of a `RegistrationResponseJSON` or `AuthenticationResponseJSON`, without a check.
  func credentialID(in json: String) throws -> [UInt8]
  /// Reads an `AuthenticationResponseJSON`, without a check.
  func parseAssertion(_ json: String) throws -> PresentedPasskey
  /// Verifies an `AuthenticationResponseJSON` with the key of its passkey.
  func verifyAssertion(_ json: String, by passkey: Passkey, answering challenge: PasskeyChallenge) throws
    -> PasskeyUse
}

/// A credential that options name.
package struct NamedPasskey: Hashable, Sendable {
  package var credentialID: [UInt8]
  package var transports: [String]

  package init(credentialID: [UInt8], transports: [String] = []) {
    self.credentialID = credentialID
    self.transports = transports
  }

  init(_ passkey: Passkey) { self.init(credentialID: passkey.credentialID, transports: passkey.transports) }
}

package struct PasskeyCreation: Hashable, Sendable {
  package var challenge: PasskeyChallenge
  package var userName: String
  package var displayName: String
  package var excluded: [NamedPasskey]
  package var lifetimeMillis: Int64
}

package struct PasskeyRequest: Hashable, Sendable {
  package var challenge: PasskeyChallenge
  /// Empty: the user chooses a passkey that the authenticator stores.
  package var allowed: [NamedPasskey]
  package var lifetimeMillis: Int64
}

/// What a response states before its verification.
package struct PresentedPasskey: Hashable, Sendable {
  package var credentialID: [UInt8]
  package var userHandle: [UInt8]?

  package init(credentialID: [UInt8], userHandle: [UInt8]?) {
    self.credentialID = credentialID
    self.userHandle = userHandle
  }
}

/// What a verified use states.
package struct PasskeyUse: Hashable, Sendable {
  package var signCount: Int64
  package var userVerified: Bool
  package var backupEligible: Bool
  package var backedUp: Bool

  package init(signCount: Int64, userVerified: Bool, backupEligible: Bool, backedUp: Bool) {
    self.signCount = signCount
    self.userVerified = userVerified
    self.backupEligible = backupEligible
    self.backedUp = backedUp
  }
}

/// A server without relying parties.
package struct NoPasskeys: Passkeys {
  package init() {}

  package func relyingPartyIDs(of caller: CallerName) -> [String] { [] }
  package func creationOptions(_ order: PasskeyCreation) throws -> String { throw notEnabled }
  package func requestOptions(_ order: PasskeyRequest) throws -> String { throw notEnabled }
  package func verifyRegistration(_ json: String, answering challenge: PasskeyChallenge) throws -> Passkey {
    throw notEnabled
  }
  package func credentialID(in json: String) throws -> [UInt8] { throw notEnabled }
  package func parseAssertion(_ json: String) throws -> PresentedPasskey { throw notEnabled }
  package func verifyAssertion(
    _ json: String, by passkey: Passkey, answering challenge: PasskeyChallenge
  ) throws -> PasskeyUse {
    throw notEnabled
  }

  private var notEnabled: Failure { .notEnabled(SignInMethods.passkey) }
}
