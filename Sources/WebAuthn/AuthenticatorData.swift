internal import Crypto

/// What the authenticator signs (WebAuthn 6.1).
struct AuthenticatorData {
  let bytes: [UInt8]
  let layout: AuthenticatorLayout
  private let flags: Flags

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let userPresent = Flags(rawValue: 1 << 0)
    static let userVerified = Flags(rawValue: 1 << 2)
    static let backupEligible = Flags(rawValue: 1 << 3)
    static let backedUp = Flags(rawValue: 1 << 4)
    static let hasCredential = Flags(rawValue: 1 << 6)
  }

  private static let hashByteCount = 32

  init(_ bytes: [UInt8]) throws(WebAuthnFlaw) {
    guard let layout = Fido2.layout(bytes) else { throw .authenticatorData }
    self.bytes = bytes
    self.layout = layout
    flags = Flags(rawValue: bytes[Self.hashByteCount])
  }

  var hasCredential: Bool { flags.contains(.hasCredential) }
  var userVerified: Bool { flags.contains(.userVerified) }
  var backupEligible: Bool { flags.contains(.backupEligible) }
  var backedUp: Bool { flags.contains(.backedUp) }
  /// The signature counter, after the flags.
  var signCount: UInt32 { bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) } }

  /// Checks 7.1 steps 14 to 17, which are 7.2 steps 15 to 18.
  func check(requiresUserVerification: Bool, at relyingParty: RelyingParty) throws(WebAuthnFlaw) {
    guard bytes.starts(with: HashFunction.sha256.digest(Array(relyingParty.id.utf8))) else { throw .rpIDHash }
    guard flags.contains(.userPresent) else { throw .userPresence }
    guard userVerified || !requiresUserVerification else { throw .userVerification }
    guard backupEligible || !backedUp else { throw .backupState }
  }
}
