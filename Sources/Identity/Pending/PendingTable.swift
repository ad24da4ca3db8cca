import Encodings
package import Store
import Text

/// A row that is not yet written, with the pending token that only its client receives.
package struct NewPending: Hashable, Sendable {
  package var handle: String
  package var record: PendingRecord
}

/// A row that this call may complete, or that an earlier call completed.
package enum OpenedPending: Hashable, Sendable {
  case held(PendingRecord, PendingAssertion)
  case completed(accountID: String, sessionID: String)
}

extension Environment {
  /// Creates the row of a pending assertion. Only the account `accountID` can complete it.
  package func hold(
    _ held: PendingAssertion, purpose: PendingPurpose, accountID: String, call: CallFacts, now: Timestamp
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

  /// Returns the row key of a pending token. Throws if the token is malformed.
  package func pendingDigest(_ handle: String) throws(Failure) -> Digest {
    guard let secret = Base64URL.decode(handle), secret.count == PendingTable.handleBytes else {
      throw PendingTable.mismatch("malformed pending token")
    }
    return cryptography.sha256(secret)
  }

  /// Opens the row of a pending token for one purpose.
  ///
  /// A row of another caller, browser or purpose fails with the same public text as an unknown one, so another user's
  /// pending token reveals nothing.
  package func openPending(
    _ record: PendingRecord?, purpose: PendingPurpose, call: CallFacts, now: Timestamp
  ) throws(Failure) -> OpenedPending {
    guard let record else { throw PendingTable.mismatch("unknown pending token") }
    guard record.caller == call.caller else { throw PendingTable.mismatch("another caller's pending token") }
    guard record.binding == call.binding else { throw PendingTable.mismatch("pending token of another binding") }
    guard record.purpose == purpose, purpose.holdsAssertion else {
      throw PendingTable.mismatch("pending token for purpose \(record.purpose.rawValue)")
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
    let held = try openContent(
      record.sealed, context: PendingTable.context(of: record), PendingAssertion.init(packed:),
      or: PendingTable.mismatch)
    return .held(record, held)
  }
}

/// The table of pending assertions: its failures, and the fields of a row that never change.
package enum PendingTable {
  static let handleBytes = 32

  /// The failure for a pending token that does not match the call. The public text is the same for every reason.
  package static func mismatch(_ debug: String) -> Failure {
    Failure(.pendingCredentialMismatch, hint: "Sign in with the provider again.", debug: debug)
  }

  /// Returns the context of the seal: every field that is fixed when the row is created. A row does not open if any of
  /// them changed.
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
  /// Requires a binding to the user's browser, if the operator set `require_binding`.
  package func requireBinding(_ policy: Policy) throws(Failure) {
    guard policy.requireBinding, binding == nil else { return }
    throw Failure(.invalidField, field: "binding", hint: "Set binding; this service requires it.")
  }
}
