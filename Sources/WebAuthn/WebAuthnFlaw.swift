/// Why an answer of an authenticator was rejected: one case for each check. Clients see the raw values.
package enum WebAuthnFlaw: String, CaseIterable, Error, Sendable {
  /// A part is larger than `WebAuthnLimits` allows.
  case tooLarge = "too_large"
  /// The text, or the client data in it, is no JSON object with the members that the standard requires, or a member is
  /// no base64url.
  case malformedJSON = "malformed_json"
  /// The credential or the client data has another type.
  case type
  case challenge
  case origin
  /// A page of another site embeds the origin, and the relying party allows no embedding.
  case crossOrigin = "cross_origin"
  /// The embedding page is not one that the relying party allows.
  case topOrigin = "top_origin"
  case rpIDHash = "rp_id_hash"
  case userPresence = "user_presence"
  case userVerification = "user_verification"
  /// The passkey is backed up, but its authenticator says that it cannot be.
  case backupState = "backup_state"
  /// The authenticator data is truncated, has trailing bytes, lacks the credential or has a surplus one, or is no
  /// valid CBOR.
  case authenticatorData = "authenticator_data"
  /// The identifier is empty, longer than 1,023 bytes, or not the same everywhere.
  case credentialID = "credential_id"
  case userHandle = "user_handle"
  /// The key is of an algorithm that the relying party does not accept, or invalid.
  case algorithm
  /// The attestation statement is malformed, or its signature is invalid.
  case attestation
  /// The model is not one that the relying party accepts, or the attestation is for another model.
  case aaguid
  /// No chain of certificates leads to a configured authority.
  case attestationRoot = "attestation_root"
  case signature
}
