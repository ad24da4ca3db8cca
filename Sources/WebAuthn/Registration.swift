internal import Crypto
internal import Tokens

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

extension WebAuthn {
  /// Verifies a `RegistrationResponseJSON` (WebAuthn 7.1).
  ///
  /// The caller has checked that the challenge belongs to the ceremony (step 8), and checks that the credential id is
  /// new (step 26).
  package static func verifyRegistration(
    _ json: String, challenge: [UInt8], requiresUserVerification: Bool, at relyingParty: RelyingParty
  ) throws(WebAuthnFlaw) -> VerifiedRegistration {
    let answer = try AnswerJSON(json)
    let transports = try transports(answer.response)
    let clientData = try ClientData(answer.bytes("clientDataJSON", max: WebAuthnLimits.clientData))
    // Steps 7 to 12.
    try clientData.check(.registration, challenge: challenge, at: relyingParty)
    // Step 13.
    let object = try answer.bytes("attestationObject", max: WebAuthnLimits.attestationObject)
    guard let parts = Fido2.parts(object) else { throw .attestation }
    let data = try AuthenticatorData(parts.authenticatorData)
    // Steps 14 to 17. Accounts may have passkeys of each kind, so that steps 18 and 19 exclude none.
    try data.check(requiresUserVerification: requiresUserVerification, at: relyingParty)
    guard data.hasCredential else { throw .authenticatorData }
    // Step 20.
    guard let algorithm = PasskeyAlgorithm(rawValue: data.layout.algorithm),
      relyingParty.algorithms.contains(algorithm)
    else { throw .algorithm }
    // Step 25, the length of the id.
    let credential = try Fido2.credential(data.bytes, algorithm)
    guard credential.id == answer.credentialID else { throw .credentialID }
    // Steps 21 to 24.
    let statement = Fido2.statement(object, rpID: relyingParty.id, clientDataHash: clientData.hash)
    try checkAttestation(statement, parts.format, object, credential.aaguid, relyingParty.attestation)
    return VerifiedRegistration(
      credentialID: credential.id, publicKey: PasskeyPublicKey(algorithm: algorithm, bytes: credential.key),
      signCount: data.signCount, userVerified: data.userVerified, backupEligible: data.backupEligible,
      backedUp: data.backedUp, aaguid: credential.aaguid, transports: transports,
      isDiscoverable: answer.extensionResults?["credProps"]?["rk"]?.bool, attestationFormat: parts.format)
  }

  /// Checks the outcome of the statement's verification. A rule that trusts no attestation accepts each format, but no
  /// statement that is wrong.
  private static func checkAttestation(
    _ statement: AttestationStatement, _ format: String, _ object: [UInt8], _ aaguid: [UInt8],
    _ rule: AttestationRule
  ) throws(WebAuthnFlaw) {
    guard statement != .broken else { throw .attestation }
    guard case .direct(let trust) = rule else { return }
    // The signature of U2F does not cover the model (8.6), which any client can write into the data.
    guard trust.allowedAAGUIDs.contains(aaguid), format != "fido-u2f" else { throw .aaguid }
    // Nothing but a certificate proves a model.
    guard statement == .certified else { throw .attestationRoot }
    let certificates = Fido2.certificates(object)
    switch AttestationCertificates.check(
      certificates, isTPM: format == "tpm", aaguid: aaguid, rootsPEM: trust.rootsPEM)
    {
    case .trusted: return
    case .unusable: throw .attestation
    case .otherModel: throw .aaguid
    case .noChain: throw .attestationRoot
    }
  }

  private static func transports(_ response: JSONValue) throws(WebAuthnFlaw) -> [String] {
    guard let value = response.optional("transports") else { return [] }
    guard let transports = value.strings else { throw .malformedJSON }
    guard transports.count <= WebAuthnLimits.transports,
      transports.allSatisfy({ $0.utf8.count <= WebAuthnLimits.transport })
    else { throw .tooLarge }
    return transports
  }
}
