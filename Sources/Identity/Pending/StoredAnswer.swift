import Encodings
import Sealed
import Store

/// An answer with a pending token, which the call's idempotency record stores until the token's row expires.
///
/// A client that lost the answer would otherwise lose the pending token, and cannot present a single-use credential
/// again. The answer is sealed, because no table stores a pending token in plain text. It omits the provider's tokens,
/// which are not stored anywhere, and the provider's user profile, which the row has.
enum StoredAnswer: Hashable, Sendable {
  case accountExists(AccountExists)
  case credentialInUse(CredentialInUse)
  case secondFactorRequired(SecondFactorRequired)

  fileprivate static let outcomePrefix = "held "

  fileprivate var expiresAt: Timestamp {
    switch self {
    case .accountExists(let exists): exists.expiresAt
    case .credentialInUse(let inUse): inUse.expiresAt
    case .secondFactorRequired(let required): required.expiresAt
    }
  }
}

extension Environment {
  /// Returns the write that stores the answer, if the call has an idempotency key.
  func remember(_ answer: StoredAnswer, accountID: String, _ call: CallFacts, _ now: Timestamp) -> [Write] {
    call.remember(accountID: accountID, sessionID: nil, until: answer.expiresAt, now: now) { names in
      let sealed = cryptography.seal(answer.packed, context: StoredAnswer.context(names.key, names.request))
      return StoredAnswer.outcomePrefix + Base64URL.encode(sealed)
    }
  }

  /// Returns the stored answer. nil: the call issued no pending token.
  func heldAnswer(of record: IdempotencyRecord) throws(Failure) -> StoredAnswer? {
    guard record.outcome.hasPrefix(StoredAnswer.outcomePrefix) else { return nil }
    let text = record.outcome.dropFirst(StoredAnswer.outcomePrefix.count)
    return try openContent(
      Base64URL.decode(String(text)) ?? [], context: StoredAnswer.context(record.key, record.request),
      StoredAnswer.init(packed:), or: PendingTable.mismatch)
  }
}

// MARK: sealed form

extension StoredAnswer: SealedContent {
  fileprivate static func context(_ key: Digest, _ request: Digest) -> [UInt8] {
    var packer = Packer()
    packer.append("held answer")
    packer.append(key.bytes)
    packer.append(request.bytes)
    return packer.bytes
  }

  init(_ message: Sealed.StoredAnswer) throws {
    let handle = try message.handle.required()
    let expiresAt = Timestamp(millis: try message.expiresAtMillis.required())
    switch try message.answer.required() {
    case .accountExists(let exists):
      self = .accountExists(
        AccountExists(
          email: exists.email, providerIDs: exists.providerIDs, methods: exists.methods, handle: handle,
          expiresAt: expiresAt, reason: try AccountExists.Reason(rawValue: exists.reason).required(),
          canClaimAddress: exists.canClaimAddress))
    case .credentialInUse(let inUse):
      self = .credentialInUse(CredentialInUse(email: inUse.email.presence, handle: handle, expiresAt: expiresAt))
    case .secondFactorRequired(let required):
      self = .secondFactorRequired(
        SecondFactorRequired(
          handle: handle, factors: try required.factors.map { try FactorRecord($0) }, expiresAt: expiresAt))
    }
  }

  var message: Sealed.StoredAnswer {
    var message = Sealed.StoredAnswer(expiresAtMillis: expiresAt.millis)
    switch self {
    case .accountExists(let exists):
      message.handle = exists.handle
      message.answer = .accountExists(
        .init(
          email: exists.email, providerIDs: exists.providerIDs, methods: exists.methods,
          reason: exists.reason.rawValue, canClaimAddress: exists.canClaimAddress))
    case .credentialInUse(let inUse):
      message.handle = inUse.handle
      message.answer = .credentialInUse(.init(email: inUse.email ?? ""))
    case .secondFactorRequired(let required):
      message.handle = required.handle
      message.answer = .secondFactorRequired(.init(factors: required.factors.map(\.message)))
    }
    return message
  }
}

extension FactorRecord {
  fileprivate init(_ message: Sealed.StoredAnswer.Factor) throws {
    self.init(
      id: try message.id.required(), accountID: try message.accountID.required(),
      kind: try FactorKind(rawValue: message.kind).required(), displayName: message.displayName,
      phoneNumber: message.phoneNumber.presence, enrolledAt: Timestamp(millis: try message.enrolledAtMillis.required()))
  }

  /// The fields that the user may see, without the secret.
  fileprivate var message: Sealed.StoredAnswer.Factor {
    Sealed.StoredAnswer.Factor(
      id: id, accountID: accountID, kind: kind.rawValue, displayName: displayName, phoneNumber: phoneNumber ?? "",
      enrolledAtMillis: enrolledAt.millis)
  }
}
