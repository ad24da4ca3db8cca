internal import Tokens

/// A parsed assertion, of which nothing is verified.
package struct AssertionResponse: Sendable {
  package let credentialID: [UInt8]
  /// 1 to 64 bytes. Authenticators may omit it for a passkey that was named to them.
  package let userHandle: [UInt8]?
  let clientDataJSON: [UInt8]
  let authenticatorData: [UInt8]
  let signature: [UInt8]
}

/// What a verified assertion proves.
package struct VerifiedAssertion: Hashable, Sendable {
  package let signCount: UInt32
  package let userVerified: Bool
  package let backupEligible: Bool
  package let backedUp: Bool
}

extension WebAuthn {
  /// Returns the credential id in a `RegistrationResponseJSON` or an `AuthenticationResponseJSON`. Nothing is verified.
  package static func credentialID(in json: String) throws(WebAuthnFlaw) -> [UInt8] {
    try AnswerJSON(json).credentialID
  }

  /// Parses an `AuthenticationResponseJSON`. Nothing in the result is verified.
  package static func parseAssertion(_ json: String) throws(WebAuthnFlaw) -> AssertionResponse {
    let answer = try AnswerJSON(json)
    var userHandle: [UInt8]?
    if answer.response.optional("userHandle") != nil {
      let bytes = try answer.bytes("userHandle", max: WebAuthnLimits.json)
      guard 1...WebAuthnLimits.userHandle ~= bytes.count else { throw .userHandle }
      userHandle = bytes
    }
    return AssertionResponse(
      credentialID: answer.credentialID, userHandle: userHandle,
      clientDataJSON: try answer.bytes("clientDataJSON", max: WebAuthnLimits.clientData),
      authenticatorData: try answer.bytes("authenticatorData", max: WebAuthnLimits.assertionData),
      signature: try answer.bytes("signature", max: WebAuthnLimits.signature))
  }

  /// Verifies an assertion with the public key of the passkey that its `credentialID` names (WebAuthn 7.2).
  ///
  /// The caller has found the passkey among those that may answer (steps 5 and 6), and compares `userHandle` with that
  /// of the account, and the backup eligibility (step 19) and the sign count (step 22) with the stored ones.
  package static func verify(
    _ response: AssertionResponse, challenge: [UInt8], key: PasskeyPublicKey, requiresUserVerification: Bool,
    at relyingParty: RelyingParty
  ) throws(WebAuthnFlaw) -> VerifiedAssertion {
    // Steps 8 to 14.
    let clientData = try ClientData(response.clientDataJSON)
    try clientData.check(.assertion, challenge: challenge, at: relyingParty)
    let data = try AuthenticatorData(response.authenticatorData)
    // Only registrations have a credential (6.1).
    guard !data.hasCredential else { throw .authenticatorData }
    // Steps 15 to 18.
    try data.check(requiresUserVerification: requiresUserVerification, at: relyingParty)
    // Steps 20 and 21.
    try Fido2.verify(
      signature: response.signature, of: data, clientDataHash: clientData.hash, key: key, rpID: relyingParty.id)
    return VerifiedAssertion(
      signCount: data.signCount, userVerified: data.userVerified, backupEligible: data.backupEligible,
      backedUp: data.backedUp)
  }
}
