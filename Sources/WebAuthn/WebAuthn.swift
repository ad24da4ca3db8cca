// WebAuthn: passkeys, by the rules of Web Authentication Level 3 (https://www.w3.org/TR/webauthn-3/).
//
// Owns: the options that clients receive, the verification of what authenticators answer, and everything of libfido2.
// Does not own: challenges and passkeys that are stored, sign counts of the past, and what a passkey may do (Identity).
// Everything is a pure function of text, keys and the relying party.
// Read next: RelyingParty.swift, Options.swift, then Registration.swift and Assertion.swift.

/// The public key of a passkey.
package struct PasskeyPublicKey: Hashable, Sendable {
  package let algorithm: PasskeyAlgorithm
  /// The raw key as libfido2 takes it: x and y of a P-256 point, 32 bytes of Ed25519, or modulus and exponent of RSA.
  package let bytes: [UInt8]

  package init(algorithm: PasskeyAlgorithm, bytes: [UInt8]) {
    self.algorithm = algorithm
    self.bytes = bytes
  }
}

/// What a verified registration proves.
package struct VerifiedRegistration: Hashable, Sendable {
  package let credentialID: [UInt8]
  package let publicKey: PasskeyPublicKey
  package let signCount: UInt32
  package let userVerified: Bool
  package let backupEligible: Bool
  package let backedUp: Bool
  /// The model of the authenticator: 16 bytes, often all zero. Trusted only with `AttestationRule.direct`.
  package let aaguid: [UInt8]
  /// As the client reports them, unverified.
  package let transports: [String]
  /// Whether the authenticator can find the passkey without its identifier, if the client reports it; unverified.
  package let isDiscoverable: Bool?
  package let attestationFormat: String
}

/// What a verified assertion proves.
package struct VerifiedAssertion: Hashable, Sendable {
  package let signCount: UInt32
  package let userVerified: Bool
  package let backupEligible: Bool
  package let backedUp: Bool
}

package enum WebAuthn {
  /// Verifies a `RegistrationResponseJSON` (WebAuthn 7.1).
  ///
  /// The caller has checked that the challenge belongs to the ceremony, and checks that the credential id is new.
  package static func verifyRegistration(
    _ json: String, challenge: [UInt8], requiresUserVerification: Bool, at relyingParty: RelyingParty
  ) throws(WebAuthnFlaw) -> VerifiedRegistration {
    throw .malformedJSON
  }

  /// Parses an `AuthenticationResponseJSON`. Nothing in the result is verified.
  package static func parseAssertion(_ json: String) throws(WebAuthnFlaw) -> AssertionResponse {
    throw .malformedJSON
  }

  /// Verifies an assertion with the public key of the passkey that its `credentialID` names (WebAuthn 7.2).
  ///
  /// The caller compares `userHandle` with that of the account, and the sign count and the backup eligibility with the
  /// stored ones.
  package static func verify(
    _ response: AssertionResponse, challenge: [UInt8], key: PasskeyPublicKey, requiresUserVerification: Bool,
    at relyingParty: RelyingParty
  ) throws(WebAuthnFlaw) -> VerifiedAssertion {
    throw .signature
  }
}

/// A parsed assertion, of which nothing is verified.
package struct AssertionResponse: Sendable {
  package let credentialID: [UInt8]
  /// 1 to 64 bytes. Authenticators may omit it for a passkey that was named to them.
  package let userHandle: [UInt8]?
  let clientDataJSON: [UInt8]
  let authenticatorData: [UInt8]
  let signature: [UInt8]
}
