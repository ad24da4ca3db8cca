import Encodings
package import Store

/// Codes in the pending table: their making, and the one way to open them.
extension Environment {
  /// Makes the row of a code. `accountID` is the account found, or empty: the row is the same either way.
  func newCode(
    _ code: HeldCode, purpose: PendingPurpose, identity: IdentityKey, email: String? = nil, accountID: String,
    lifetimeMillis: Int64, call: CallFacts, now: Timestamp
  ) -> NewPending {
    var pending = newPending(
      code.packed, purpose: purpose, identity: identity, email: email, accountID: accountID,
      lifetimeMillis: lifetimeMillis, call: call, now: now)
    pending.record.attemptsLeft = policy.codeAttemptsMax
    return pending
  }

  /// Puts the code in the place of the one that was asked for before.
  func insert(_ code: NewPending) -> [Write] {
    [
      .endPendings(code.record.purpose, code.record.identity),
      .insertPending(code.record, limits: policy.codeLimits),
    ]
  }

  /// The key of a code's row; refused where the text is no code at all.
  func codeDigest(_ code: String, field: String) throws(Failure) -> Digest {
    guard let secret = Base64URL.decode(code), secret.count == PendingTable.handleBytes else {
      throw Failure.wrongSentCode("not a code", field: field)
    }
    return cryptography.sha256(secret)
  }

  /// Opens the row behind a code. One of another caller, browser or purpose is refused like an unknown one.
  ///
  /// - Parameter isBound: false for calls that name no binding: what they redeem was asked for without one.
  func openCode(
    _ record: PendingRecord?, _ purposes: Set<PendingPurpose>, isBound: Bool = true, field: String, call: CallFacts,
    now: Timestamp
  ) throws(Failure) -> OpenedCode {
    guard let record else { throw Failure.wrongSentCode("unknown code", field: field) }
    guard record.caller == call.caller else { throw Failure.wrongSentCode("another caller's code", field: field) }
    guard !isBound || record.binding == call.binding else {
      throw Failure.wrongSentCode("code of another binding", field: field)
    }
    guard purposes.contains(record.purpose) else {
      throw Failure.wrongSentCode("code for \(record.purpose.rawValue)", field: field)
    }
    guard !record.isExpired(at: now), record.completedAt == nil, record.attemptsLeft > 0 else {
      throw Failure(.expiredCode, field: field, hint: "Ask for a new one.")
    }
    guard let plaintext = cryptography.open(record.sealed, context: PendingTable.context(of: record)),
      let held = HeldCode(packed: plaintext)
    else { throw Failure.wrongSentCode("the row was changed after it was sealed", field: field) }
    return OpenedCode(row: record, held: held)
  }
}

/// A row that was found and is good for this call.
package struct OpenedCode: Hashable, Sendable {
  package var row: PendingRecord
  package var held: HeldCode

  /// The write that uses it up; it goes through for one call only.
  func spend(for accountID: String = "", sessionID: String = "", now: Timestamp) -> Write {
    .completePending(row.digest, version: row.version, at: now, accountID: accountID, sessionID: sessionID)
  }
}

extension Failure {
  /// The words are the same whatever does not fit.
  static func wrongSentCode(_ debug: String, field: String) -> Failure {
    Failure(.invalidCode, field: field, hint: "It is not the code that was sent last.", debug: debug)
  }

  /// The code is valid. The email address that the user entered with it is the field to correct.
  static func otherMailbox(field: String) -> Failure {
    Failure(
      .invalidCode, field: field, hint: "Enter the email address that the link was sent to.",
      debug: "mailed to another address")
  }
}

/// By whom the row of a code is found when the next is asked for.
extension IdentityKey {
  static func phone(_ number: String) -> IdentityKey { IdentityKey(providerID: WaysIn.phone, subject: number) }

  /// Of a mail: the address that it goes to.
  static func mail(_ email: String) -> IdentityKey { IdentityKey(providerID: WaysIn.password, subject: email) }

  /// Of a change of address: the account, since it has one change at a time.
  static func addressOf(_ accountID: String) -> IdentityKey {
    IdentityKey(providerID: WaysIn.password, subject: accountID)
  }
}
