internal import COpenSSL

/// Certificates by which authenticators attest their model (WebAuthn 8.2.1, 8.3.1).
package enum AttestationCertificates {
  package enum Trust: Sendable {
    case trusted
    /// The first certificate is malformed, one of an authority, or not for attestation.
    case unusable
    /// The first certificate is for another model.
    case otherModel
    case noChain
  }

  /// Returns the number of certificates in a PEM text, or nil if one is malformed.
  package static func rootCount(_ pem: [UInt8]) -> Int? {
    let count = unsafe lk_authenticator_count_roots(pem, pem.count)
    return count < 0 ? nil : Int(count)
  }

  /// Checks the DER certificates of an attestation statement, the authenticator's first, now.
  /// - Parameter isTPM: whether a TPM attests, whose certificates differ from those of other authenticators.
  /// - Parameter aaguid: the model: 16 bytes.
  package static func check(_ chain: [[UInt8]], isTPM: Bool, aaguid: [UInt8], rootsPEM: [UInt8]) -> Trust {
    precondition(aaguid.count == 16)
    let trust = unsafe lk_authenticator_check(
      Array(chain.joined()), chain.map(\.count), chain.count, isTPM ? 1 : 0, aaguid, rootsPEM,
      rootsPEM.count)
    return switch trust {
    case LK_AUTHENTICATOR_TRUSTED: .trusted
    case LK_AUTHENTICATOR_NO_LEAF: .unusable
    case LK_AUTHENTICATOR_OTHER_MODEL: .otherModel
    default: .noChain
    }
  }
}
