import Encodings
import Store

/// An answer that puts something aside. The record of its call keeps it for a repeat while the row of its handle lives:
/// whoever lost the answer would else have lost the handle, and what is good once cannot be brought again.
///
/// Sealed, since a handle is in no table in clear. Without the provider's tokens, which are kept nowhere, and what the
/// provider says of the person, which the row has.
enum HeldAnswer: Hashable, Sendable {
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
  /// The write that remembers the answer, where the call has a key.
  func remember(_ answer: HeldAnswer, accountID: String, _ call: CallFacts, _ now: Timestamp) -> [Write] {
    guard let idempotency = call.idempotency else { return [] }
    let sealed = cryptography.seal(answer.packed, context: HeldAnswer.context(idempotency.key, idempotency.request))
    return call.remember(
      HeldAnswer.outcomePrefix + Base64URL.encode(sealed), accountID: accountID, sessionID: nil,
      until: answer.expiresAt, now: now)
  }

  /// nil: the record is of a call that put nothing aside.
  func heldAnswer(of record: IdempotencyRecord) throws(Failure) -> HeldAnswer? {
    guard record.outcome.hasPrefix(HeldAnswer.outcomePrefix) else { return nil }
    let text = record.outcome.dropFirst(HeldAnswer.outcomePrefix.count)
    guard let sealed = Base64URL.decode(String(text)),
      let packed = cryptography.open(sealed, context: HeldAnswer.context(record.key, record.request)),
      let answer = HeldAnswer(packed: packed)
    else { throw PendingTable.mismatch("the record was changed after it was sealed") }
    return answer
  }
}

// MARK: the bytes under the seal

extension HeldAnswer {
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
      packer.append(HeldAnswer.accountExistsTag)
      packer.append(exists.handle, exists.expiresAt)
      packer.append(exists.email)
      packer.append(exists.providerIDs)
      packer.append(exists.methods)
      packer.append(exists.reason.rawValue)
      packer.append(UInt8(exists.canClaimAddress ? 1 : 0))
    case .credentialInUse(let inUse):
      packer.append(HeldAnswer.credentialInUseTag)
      packer.append(inUse.handle, inUse.expiresAt)
      packer.append(inUse.email)
    case .secondFactorRequired(let required):
      packer.append(HeldAnswer.secondFactorTag)
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
    case HeldAnswer.accountExistsTag:
      guard let email = unpacker.text(), let providerIDs = unpacker.texts(), let methods = unpacker.texts(),
        let reason = unpacker.text().flatMap(AccountExists.Reason.init(rawValue:)), let canClaim = unpacker.flag()
      else { return nil }
      self = .accountExists(
        AccountExists(
          email: email, providerIDs: providerIDs, methods: methods, handle: handle, expiresAt: expiresAt,
          reason: reason, canClaimAddress: canClaim))
    case HeldAnswer.credentialInUseTag:
      guard let email = unpacker.optionalText() else { return nil }
      self = .credentialInUse(CredentialInUse(email: email, handle: handle, expiresAt: expiresAt))
    case HeldAnswer.secondFactorTag:
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

  /// What a person is told of a factor: its secret is none of it.
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
