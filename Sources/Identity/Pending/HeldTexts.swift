import Encodings
import Sealed
import Store

// Answer texts that a repeated call returns again. Recovery codes are returned once, and a reset opens no session that
// could repeat its answer. The texts are sealed, because no table stores them in plain text.

extension Environment {
  /// Returns the write that stores the texts for a repeat of the call, if it has an idempotency key.
  func remember(
    _ texts: [String], accountID: String, sessionID: String?, _ call: CallFacts, _ now: Timestamp
  ) -> [Write] {
    let end = now.adding(millis: policy.idempotencyLifetimeMillis)
    return call.remember(accountID: accountID, sessionID: sessionID, until: end, now: now) { names in
      let sealed = cryptography.seal(
        Sealed.HeldTexts(texts: texts).packed, context: HeldTexts.context(names.key, names.request))
      return HeldTexts.outcomePrefix + Base64URL.encode(sealed)
    }
  }

  func heldTexts(of record: IdempotencyRecord) throws(Failure) -> [String] {
    guard record.outcome.hasPrefix(HeldTexts.outcomePrefix) else {
      throw PendingTable.mismatch("the record has no texts")
    }
    let text = record.outcome.dropFirst(HeldTexts.outcomePrefix.count)
    let held = try openContent(
      Base64URL.decode(String(text)) ?? [], context: HeldTexts.context(record.key, record.request),
      Sealed.HeldTexts.init(packed:), or: PendingTable.mismatch)
    return held.texts
  }
}

private enum HeldTexts {
  static let outcomePrefix = "texts "

  static func context(_ key: Digest, _ request: Digest) -> [UInt8] {
    var packer = Packer()
    packer.append("held texts")
    packer.append(key.bytes)
    packer.append(request.bytes)
    return packer.bytes
  }
}
