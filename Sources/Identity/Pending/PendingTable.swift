import Encodings
package import Store
import Text

/// A row that is not yet written, with the handle that only its client ever gets.
package struct NewPending: Hashable, Sendable {
  package var handle: String
  package var record: PendingRecord
}

/// A row that was found and may be completed by this call, or was completed before.
package enum OpenedPending: Hashable, Sendable {
  case held(PendingRecord, HeldAssertion)
  case completed(accountID: String, sessionID: String)
}

extension Environment {
  /// Makes the row of a held assertion. `accountID` is the account found; only it can ever complete the row.
  package func hold(
    _ held: HeldAssertion, purpose: PendingPurpose, accountID: String, call: CallFacts, now: Timestamp
  ) -> NewPending {
    newPending(
      held.packed, purpose: purpose, identity: held.assertion.identity, email: held.assertion.email,
      tier: held.assertion.tier, accountID: accountID, lifetimeMillis: policy.pendingLifetimeMillis, call: call,
      now: now)
  }

  func newPending(
    _ plaintext: [UInt8], purpose: PendingPurpose, identity: IdentityKey, email: String? = nil,
    tier: TrustTier = .unverified, accountID: String, lifetimeMillis: Int64, call: CallFacts, now: Timestamp
  ) -> NewPending {
    let secret = randomness.bytes(PendingTable.handleBytes)
    var record = PendingRecord(
      digest: cryptography.sha256(secret), purpose: purpose, identity: identity, email: email, tier: tier,
      accountID: accountID, caller: call.caller, binding: call.binding, attemptID: ids.attempt(), sealed: [],
      createdAt: now, expiresAt: now.adding(millis: lifetimeMillis), attemptsLeft: policy.pendingAttemptsMax)
    record.network = Network.counting(call.ipAddress).last.map {
      cryptography.keyedDigest(Array($0.network.text.utf8), purpose: "network of a pending row")
    }
    record.sealed = cryptography.seal(plaintext, context: PendingTable.context(of: record))
    return NewPending(handle: Base64URL.encode(secret), record: record)
  }

  /// The key of a handle's row; refused where the text is no handle at all.
  package func pendingDigest(_ handle: String) throws(Failure) -> Digest {
    guard let secret = Base64URL.decode(handle), secret.count == PendingTable.handleBytes else {
      throw PendingTable.mismatch("not a handle")
    }
    return cryptography.sha256(secret)
  }

  /// Opens the row behind a handle for one purpose.
  ///
  /// A row of another caller, browser or purpose is refused in the same words as an unknown one: who holds somebody
  /// else's handle learns nothing from it.
  package func openPending(
    _ record: PendingRecord?, purpose: PendingPurpose, call: CallFacts, now: Timestamp
  ) throws(Failure) -> OpenedPending {
    guard let record else { throw PendingTable.mismatch("unknown handle") }
    guard record.caller == call.caller else { throw PendingTable.mismatch("another caller's handle") }
    guard record.binding == call.binding else { throw PendingTable.mismatch("handle of another binding") }
    guard record.purpose == purpose, purpose.holdsAssertion else {
      throw PendingTable.mismatch("handle for \(record.purpose.rawValue)")
    }
    guard !record.isExpired(at: now) else {
      throw Failure(.pendingCredentialExpired, hint: "Sign in with the provider again.")
    }
    if record.completedAt != nil, let accountID = record.completedAccountID, let sessionID = record.completedSessionID {
      return .completed(accountID: accountID, sessionID: sessionID)
    }
    guard record.attemptsLeft > 0 else {
      throw Failure(.pendingCredentialUsed, hint: "Sign in with the provider again.", debug: "no attempts left")
    }
    guard let plaintext = cryptography.open(record.sealed, context: PendingTable.context(of: record)),
      let held = HeldAssertion(packed: plaintext)
    else { throw PendingTable.mismatch("the row was changed after it was sealed") }
    return .held(record, held)
  }
}

/// The core's own table of held assertions: what is stored of one, and what about it may never change.
package enum PendingTable {
  static let handleBytes = 32

  /// Refusal of a handle that does not fit the call, for whatever reason: the words are always the same.
  package static func mismatch(_ debug: String) -> Failure {
    Failure(.pendingCredentialMismatch, hint: "Sign in with the provider again.", debug: debug)
  }

  /// What the seal is bound to: every field of the row that is fixed when it is made. A row with any of them changed no
  /// longer opens.
  static func context(of record: PendingRecord) -> [UInt8] {
    var packer = Packer()
    packer.append(record.digest.bytes)
    packer.append(record.purpose.rawValue)
    packer.append(record.identity.providerID)
    packer.append(record.identity.subject)
    packer.append(record.email)
    packer.append(UInt8(record.tier.rawValue))
    packer.append(record.accountID)
    packer.append(record.caller.text)
    packer.append(record.binding?.bytes)
    packer.append(record.attemptID)
    packer.append(record.createdAt.millis)
    packer.append(record.expiresAt.millis)
    return packer.bytes
  }
}

extension CallFacts {
  /// Where the operator demands it, a call that makes or completes a row names the person's browser.
  package func requireBinding(_ policy: Policy) throws(Failure) {
    guard policy.requireBinding, binding == nil else { return }
    throw Failure(.invalidField, field: "binding", hint: "This service demands a binding.")
  }
}
