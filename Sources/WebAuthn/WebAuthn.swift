// WebAuthn: passkeys, by the rules of Web Authentication Level 3 (https://www.w3.org/TR/webauthn-3/).
//
// Owns: the options that clients receive, the verification of what authenticators answer, and everything of libfido2.
// Does not own: challenges and passkeys that are stored, sign counts of the past, and what a passkey may do (Identity).
// Everything is a function of text, keys and the relying party. Only certificates of attestations also need the time.
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

/// Verifies what authenticators answer. Registration.swift and Assertion.swift add the functions.
package enum WebAuthn {}

/// Maximum sizes in bytes. Real answers are half as long.
package enum WebAuthnLimits {
  /// A whole answer as JSON.
  package static let json = 16_384
  static let clientData = 4096
  static let attestationObject = 8192
  /// libfido2 verifies Ed25519 signatures of at most 1,024 bytes, which include the hash of the client data.
  static let assertionData = 992
  static let signature = 1024
  package static let credentialID = 1023
  package static let userHandle = 64
  static let transports = 8
  static let transport = 32
}
