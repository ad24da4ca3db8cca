import Sealed
import Store

/// The sealed part of a factor. The seal binds it to the account and the factor's id.
enum FactorSecret: Hashable, Sendable {
  /// `lastStep` is the step of the last used code. No code is accepted twice (RFC 6238, 5.2).
  case totp(secret: [UInt8], lastStep: Int64?)
  case recoveryCodes(RecoveryCodes)
  /// A phone factor has no secret, only its number.
  case phone
  case passkey(Passkey)
}

extension Environment {
  func seal(_ secret: FactorSecret, of factor: FactorRecord) -> [UInt8] {
    cryptography.seal(secret.packed, context: FactorSecret.context(of: factor))
  }

  func sealPasskey(_ passkey: Passkey, of factor: FactorRecord) -> [UInt8] { seal(.passkey(passkey), of: factor) }

  /// Opens the secret of a factor. nil: sealed with another key, or for another factor.
  func secret(of factor: FactorRecord) -> FactorSecret? {
    guard factor.kind != .phone else { return .phone }
    return cryptography.open(factor.sealedSecret, context: FactorSecret.context(of: factor))
      .flatMap { FactorSecret(packed: $0) }
  }
}

// MARK: sealed form

extension FactorSecret: SealedContent {
  static func context(of factor: FactorRecord) -> [UInt8] {
    var packer = Packer()
    packer.append("factor")
    packer.append(factor.accountID)
    packer.append(factor.id)
    packer.append(factor.kind.rawValue)
    return packer.bytes
  }

  init(_ message: Sealed.FactorSecret) throws {
    switch try message.secret.required() {
    case .totp(let totp):
      self = .totp(secret: try totp.secret.required(), lastStep: totp.lastStep == 0 ? nil : totp.lastStep)
    case .recoveryCodes(let codes):
      self = .recoveryCodes(RecoveryCodes(digests: try codes.digests.map { try Digest(sealed: $0) }))
    case .passkey(let passkey): self = .passkey(try Passkey(passkey))
    }
  }

  var message: Sealed.FactorSecret {
    switch self {
    case .totp(let secret, let lastStep):
      Sealed.FactorSecret(secret: .totp(.init(secret: secret, lastStep: lastStep ?? 0)))
    case .recoveryCodes(let codes):
      Sealed.FactorSecret(secret: .recoveryCodes(.init(digests: codes.digests.map(\.bytes))))
    case .passkey(let passkey): Sealed.FactorSecret(secret: .passkey(passkey.message))
    case .phone: Sealed.FactorSecret()
    }
  }
}
