import Encodings
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
    guard let idempotency = call.idempotency else { return [] }
    let sealed = cryptography.seal(answer.packed, context: StoredAnswer.context(idempotency.key, idempotency.request))
    return call.remember(
      StoredAnswer.outcomePrefix + Base64URL.encode(sealed), accountID: accountID, sessionID: nil,
      until: answer.expiresAt, now: now)
  }

  /// Returns the stored answer. nil: the call issued no pending token.
  func heldAnswer(of record: IdempotencyRecord) throws(Failure) -> StoredAnswer? {
    guard record.outcome.hasPrefix(StoredAnswer.outcomePrefix) else { return nil }
    let text = record.outcome.dropFirst(StoredAnswer.outcomePrefix.count)
    guard let sealed = Base64URL.decode(String(text)),
      let packed = cryptography.open(sealed, context: StoredAnswer.context(record.key, record.request)),
      let answer = StoredAnswer(packed: packed)
    else { throw PendingTable.mismatch("the record was changed after it was sealed") }
    return answer
  }
}

// MARK: sealed binary form

extension StoredAnswer {
  private static let accountExistsTag: UInt8 = 1
  private static let credentialInUseTag: UInt8 = 2
  private static let secondFactorTag: UInt8 = 3

  fileprivate static func context(_ key: Digest, _ request: Digest) -> [UInt8] {
    var packer = Packer()
    packer.append("held answer")
    packer.append(key.bytes)
    packer.append(request.bytes)
    return packer.bytes
  }

  fileprivate var packed: [UInt8] {
    var packer = Packer()
    switch self {
    case .accountExists(let exists):
      packer.append(StoredAnswer.accountExistsTag)
      packer.append(exists.handle, exists.expiresAt)
      packer.append(exists.email)
      packer.append(exists.providerIDs)
      packer.append(exists.methods)
      packer.append(exists.reason.rawValue)
      packer.append(UInt8(exists.canClaimAddress ? 1 : 0))
    case .credentialInUse(let inUse):
      packer.append(StoredAnswer.credentialInUseTag)
      packer.append(inUse.handle, inUse.expiresAt)
      packer.append(inUse.email)
    case .secondFactorRequired(let required):
      packer.append(StoredAnswer.secondFactorTag)
      packer.append(required.handle, required.expiresAt)
      packer.append(Int64(required.factors.count))
      for factor in required.factors { packer.append(factor) }
    }
    return packer.bytes
  }

  fileprivate init?(packed: [UInt8]) {
    var unpacker = Unpacker(packed)
    guard let tag = unpacker.byte(), let handle = unpacker.text(), let millis = unpacker.number() else { return nil }
    let expiresAt = Timestamp(millis: millis)
    switch tag {
    case StoredAnswer.accountExistsTag:
      guard let email = unpacker.text(), let providerIDs = unpacker.texts(), let methods = unpacker.texts(),
        let reason = unpacker.text().flatMap(AccountExists.Reason.init(rawValue:)), let canClaim = unpacker.flag()
      else { return nil }
      self = .accountExists(
        AccountExists(
          email: email, providerIDs: providerIDs, methods: methods, handle: handle, expiresAt: expiresAt,
          reason: reason, canClaimAddress: canClaim))
    case StoredAnswer.credentialInUseTag:
      guard let email = unpacker.optionalText() else { return nil }
      self = .credentialInUse(CredentialInUse(email: email, handle: handle, expiresAt: expiresAt))
    case StoredAnswer.secondFactorTag:
      guard let factors = unpacker.list({ $0.factor() }) else { return nil }
      self = .secondFactorRequired(SecondFactorRequired(handle: handle, factors: factors, expiresAt: expiresAt))
    default: return nil
    }
    guard unpacker.isAtEnd else { return nil }
  }
}

extension Packer {
  fileprivate mutating func append(_ handle: String, _ expiresAt: Timestamp) {
    append(handle)
    append(expiresAt.millis)
  }

  mutating func append(_ texts: [String]) {
    append(Int64(texts.count))
    for text in texts { append(text) }
  }

  /// Appends the fields of a factor that its user may see, without the secret.
  fileprivate mutating func append(_ factor: FactorRecord) {
    append(factor.id)
    append(factor.accountID)
    append(factor.kind.rawValue)
    append(factor.displayName)
    append(factor.phoneNumber)
    append(factor.enrolledAt.millis)
  }
}

extension Unpacker {
  fileprivate mutating func list<Element>(_ next: (inout Unpacker) -> Element?) -> [Element]? {
    guard let count = number(), 0...64 ~= count else { return nil }
    var list: [Element] = []
    for _ in 0..<count {
      guard let element = next(&self) else { return nil }
      list.append(element)
    }
    return list
  }

  mutating func texts() -> [String]? { list { $0.text() } }

  fileprivate mutating func factor() -> FactorRecord? {
    guard let id = text(), let accountID = text(), let kind = text().flatMap(FactorKind.init(rawValue:)),
      let displayName = text(), let phoneNumber = optionalText(), let enrolledMillis = number()
    else { return nil }
    return FactorRecord(
      id: id, accountID: accountID, kind: kind, displayName: displayName, phoneNumber: phoneNumber,
      enrolledAt: Timestamp(millis: enrolledMillis))
  }
}
