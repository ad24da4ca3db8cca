/// A signature algorithm of passkeys, by its COSE number (RFC 9053, RFC 8812).
package enum PasskeyAlgorithm: Int, CaseIterable, Sendable {
  case es256 = -7
  case edDSA = -8
  case rs256 = -257
}

/// Whether an authenticator must check a PIN or a biometric (WebAuthn 5.8.6).
package enum UserVerification: String, CaseIterable, Sendable {
  case required, preferred, discouraged
}

/// Whether authenticators should make discoverable credentials (WebAuthn 5.4.6). Only these sign in without an email.
package enum ResidentKey: String, CaseIterable, Sendable {
  case required, preferred, discouraged
}

/// Which authenticators a relying party accepts.
package enum AttestationRule: Hashable, Sendable {
  /// Each. Browsers remove the attestation before they answer.
  case none
  /// Only models on the list, which a certificate chain to one of the roots attests.
  case direct(AttestationTrust)
}

package struct AttestationTrust: Hashable, Sendable {
  /// The models: AAGUIDs of 16 bytes.
  package let allowedAAGUIDs: Set<[UInt8]>
  /// Certificates of the authorities, as PEM.
  package let rootsPEM: [UInt8]

  package init(allowedAAGUIDs: Set<[UInt8]>, rootsPEM: [UInt8]) {
    self.allowedAAGUIDs = allowedAAGUIDs
    self.rootsPEM = rootsPEM
  }
}

/// The site or the apps that passkeys belong to (WebAuthn 4, "Relying Party").
package struct RelyingParty: Hashable, Sendable {
  /// A domain. Passkeys of one relying party do not work at another.
  package let id: String
  /// The name that authenticators show.
  package let name: String
  /// Each origin that may use the passkeys, exactly as clients send it: `https://example.com`, or
  /// `android:apk-key-hash:…` for an Android app. An iOS app sends the HTTPS origin of its associated domain.
  package let origins: [String]
  /// Origins of pages that may embed an origin from another site. Without any, embedded use is rejected.
  package let topOrigins: [String]
  package let userVerification: UserVerification
  package let attestation: AttestationRule
  /// In order of preference; never empty.
  package let algorithms: [PasskeyAlgorithm]

  package init(
    id: String, name: String, origins: [String], topOrigins: [String] = [],
    userVerification: UserVerification = .preferred, attestation: AttestationRule = .none,
    algorithms: [PasskeyAlgorithm] = PasskeyAlgorithm.allCases
  ) {
    self.id = id
    self.name = name
    self.origins = origins
    self.topOrigins = topOrigins
    self.userVerification = userVerification
    self.attestation = attestation
    self.algorithms = algorithms
  }
  /// The same relying party, which accepts only authenticators that attest their model.
  package func requiring(_ trust: AttestationTrust) -> RelyingParty {
    RelyingParty(
      id: id, name: name, origins: origins, topOrigins: topOrigins, userVerification: userVerification,
      attestation: .direct(trust), algorithms: algorithms)
  }
}
