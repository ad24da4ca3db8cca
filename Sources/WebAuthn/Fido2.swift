internal import CFido2

/// The parts of authenticator data that their fixed offsets do not show.
struct AuthenticatorLayout {
  /// The COSE number of the credential's key, or 0 if there is none.
  let algorithm: Int
  fileprivate let extensions: LkExtensions
}

/// The outcome of the verification of an attestation statement.
enum AttestationStatement {
  /// Malformed, or its signature is invalid.
  case broken
  /// libfido2 does not know its format.
  case unknown
  case none
  /// Signed by the credential's own key, which proves no model.
  case selfSigned
  /// Signed by its first certificate, which nothing trusts yet.
  case certified
}

/// The calls of libfido2.
enum Fido2 {
  /// Returns nil if a part of the authenticator data is missing or malformed, or if bytes follow the last one.
  static func layout(_ data: [UInt8]) -> AuthenticatorLayout? {
    var out = LkAuthenticatorData()
    guard unsafe lk_authenticator_data(data, data.count, &out) != 0 else { return nil }
    return AuthenticatorLayout(algorithm: Int(out.algorithm), extensions: out.extensions)
  }

  /// Returns the parts of an attestation object; nil if it is malformed.
  static func parts(_ object: [UInt8]) -> (format: String, authenticatorData: [UInt8])? {
    var format = [UInt8](repeating: 0, count: Int(LK_FORMAT_BYTES_MAX) + 1)
    var data = [UInt8](repeating: 0, count: object.count)
    var count = 0
    guard unsafe lk_attestation_parts(object, object.count, &format, &data, &count) != 0 else { return nil }
    return (String(decoding: format.prefix { $0 != 0 }, as: UTF8.self), Array(data.prefix(count)))
  }

  /// Returns the certificates of an attestation statement, the authenticator's first.
  static func certificates(_ object: [UInt8]) -> [[UInt8]] {
    var chain: [[UInt8]] = []
    var certificate = [UInt8](repeating: 0, count: object.count)
    while true {
      let count = unsafe lk_attestation_certificate(object, object.count, chain.count, &certificate)
      guard count > 0 else { return chain }
      chain.append(Array(certificate.prefix(count)))
    }
  }

  /// Returns the credential in authenticator data that has one.
  static func credential(
    _ data: [UInt8], _ algorithm: PasskeyAlgorithm
  ) throws(WebAuthnFlaw) -> (id: [UInt8], key: [UInt8], aaguid: [UInt8]) {
    var id = [UInt8](repeating: 0, count: Int(LK_CREDENTIAL_ID_BYTES_MAX))
    var key = [UInt8](repeating: 0, count: Int(LK_PASSKEY_BYTES_MAX))
    var aaguid = [UInt8](repeating: 0, count: 16)
    var out = LkCredential()
    switch unsafe lk_credential(data, data.count, Int32(algorithm.rawValue), &out, &id, &key, &aaguid) {
    case LK_CREDENTIAL_SOUND: return (Array(id.prefix(out.id_count)), Array(key.prefix(out.key_count)), aaguid)
    case LK_CREDENTIAL_ID: throw .credentialID
    case LK_CREDENTIAL_NO_MEMORY: preconditionFailure("libfido2 has no memory")
    default: throw .algorithm
    }
  }

  static func statement(_ object: [UInt8], rpID: String, clientDataHash: [UInt8]) -> AttestationStatement {
    precondition(clientDataHash.count == 32)
    return switch unsafe lk_statement(object, object.count, rpID, clientDataHash) {
    case LK_STATEMENT_NONE: .none
    case LK_STATEMENT_SELF: .selfSigned
    case LK_STATEMENT_CERTIFIED: .certified
    case LK_STATEMENT_UNKNOWN: .unknown
    case LK_STATEMENT_NO_MEMORY: preconditionFailure("libfido2 has no memory")
    default: .broken
    }
  }

  static func verify(
    signature: [UInt8], of data: AuthenticatorData, clientDataHash: [UInt8], key: PasskeyPublicKey, rpID: String
  ) throws(WebAuthnFlaw) {
    precondition(clientDataHash.count == 32)
    let outcome = unsafe lk_assertion(
      rpID, Int32(key.algorithm.rawValue), key.bytes, key.bytes.count, data.bytes, data.bytes.count,
      data.layout.extensions, clientDataHash, signature, signature.count)
    switch outcome {
    case LK_ASSERTION_VERIFIED: return
    case LK_ASSERTION_KEY: throw .algorithm
    case LK_ASSERTION_NO_MEMORY: preconditionFailure("libfido2 has no memory")
    default: throw .signature
    }
  }
}
