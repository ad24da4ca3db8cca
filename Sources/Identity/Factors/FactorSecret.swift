import Store

/// The sealed part of a factor. The seal binds it to the account and the factor's id.
enum FactorSecret: Hashable, Sendable {
  /// `lastStep` is the step of the last used code. No code is accepted twice (RFC 6238, 5.2).
  case totp(secret: [UInt8], lastStep: Int64?)
  case recoveryCodes(RecoveryCodes)
  /// A phone factor has no secret, only its number.
  case phone
}

extension Environment {
  func seal(_ secret: FactorSecret, of factor: FactorRecord) -> [UInt8] {
    cryptography.seal(secret.packed, context: FactorSecret.context(of: factor))
  }

  /// Opens the secret of a factor. nil: sealed with another key, or for another factor.
  func secret(of factor: FactorRecord) -> FactorSecret? {
    guard factor.kind != .phone else { return .phone }
    return cryptography.open(factor.sealedSecret, context: FactorSecret.context(of: factor))
      .flatMap { FactorSecret(packed: $0, kind: factor.kind) }
  }
}

// MARK: sealed binary form

extension FactorSecret {
  fileprivate static func context(of factor: FactorRecord) -> [UInt8] {
    var packer = Packer()
    packer.append("factor")
    packer.append(factor.accountID)
    packer.append(factor.id)
    packer.append(factor.kind.rawValue)
    return packer.bytes
  }

  var packed: [UInt8] {
    var packer = Packer()
    switch self {
    case .totp(let secret, let lastStep):
      packer.append(secret)
      packer.append(UInt8(lastStep == nil ? 0 : 1))
      packer.append(lastStep ?? 0)
    case .recoveryCodes(let codes):
      packer.append(Int64(codes.digests.count))
      for digest in codes.digests { packer.append(digest.bytes) }
    case .phone: break
    }
    return packer.bytes
  }

  init?(packed: [UInt8], kind: FactorKind) {
    var unpacker = Unpacker(packed)
    switch kind {
    case .totp:
      guard let secret = unpacker.field(), let wasUsed = unpacker.flag(), let lastStep = unpacker.number() else {
        return nil
      }
      self = .totp(secret: secret, lastStep: wasUsed ? lastStep : nil)
    case .recoveryCode:
      guard let count = unpacker.number(), 0...Int64(RecoveryCodes.count) ~= count else { return nil }
      var digests: [Digest] = []
      for _ in 0..<count {
        guard let bytes = unpacker.field(), bytes.count == 32 else { return nil }
        digests.append(Digest(bytes))
      }
      self = .recoveryCodes(RecoveryCodes(digests: digests))
    case .phone: self = .phone
    }
    guard unpacker.isAtEnd else { return nil }
  }
}
