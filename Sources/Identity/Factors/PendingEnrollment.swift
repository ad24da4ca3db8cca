import Sealed
import Store

/// The sealed content of an enrolment's row until the user proves possession of the factor.
struct PendingEnrollment: Hashable, Sendable {
  var kind: FactorKind
  /// The session that started the enrolment. Only this session can finish it.
  var sessionID: String
  var displayName: String
  /// TOTP only.
  var secret: [UInt8] = []
  /// Phone factors only.
  var phoneNumber: String?
  var sentCode: SentCode?
  /// Passkeys only.
  var passkeyChallenge: PasskeyChallenge?
}

extension Environment {
  func hold(_ enrollment: PendingEnrollment, _ caller: CallerSession, call: CallFacts, now: Timestamp) -> NewPending {
    var pending = newPending(
      enrollment.packed, purpose: .enrollment,
      identity: IdentityKey(providerID: enrollment.kind.rawValue, subject: ""), accountID: caller.state.account.id,
      lifetimeMillis: lifetimeMillis(ofEnrolling: enrollment.kind), call: call, now: now)
    pending.record.attemptsLeft = policy.factorCodeAttemptsMax
    return pending
  }

  /// Returns how long a user has to prove possession of a factor.
  func lifetimeMillis(ofEnrolling kind: FactorKind) -> Int64 {
    kind == .passkey ? policy.passkeyChallengeLifetimeMillis : policy.factorCodeLifetimeMillis
  }

  /// Opens the row of an enrolment id, for the session that started the enrolment.
  func openEnrollment(
    _ record: PendingRecord?, _ caller: CallerSession, call: CallFacts, now: Timestamp
  ) throws(Failure) -> (row: PendingRecord, held: PendingEnrollment) {
    guard let record, record.purpose == .enrollment else { throw Failure.enrollmentMismatch("unknown enrolment id") }
    guard record.caller == call.caller else { throw Failure.enrollmentMismatch("another caller's enrolment") }
    guard record.accountID == caller.state.account.id else { throw Failure.enrollmentMismatch("another account's id") }
    let held = try openContent(
      record.sealed, context: PendingTable.context(of: record), PendingEnrollment.init(packed:),
      or: Failure.enrollmentMismatch)
    guard held.sessionID == caller.session.id else { throw Failure.enrollmentMismatch("started in another session") }
    guard !record.isExpired(at: now) else {
      throw Failure(.expiredCode, field: "enrollment_id", hint: "Start the enrolment again.").rejecting(.secondFactor)
    }
    guard record.completedAt == nil, record.attemptsLeft > 0 else { throw Failure.enrollmentWasUsed }
    return (record, held)
  }
}

extension Failure {
  static let enrollmentWasUsed = Failure(.pendingCredentialUsed, hint: "Start the enrolment again.")

  static func enrollmentMismatch(_ debug: String) -> Failure {
    Failure(.pendingCredentialMismatch, field: "enrollment_id", hint: "Start the enrolment again.", debug: debug)
  }
}

// MARK: sealed form

extension PendingEnrollment: SealedContent {
  init(_ message: Sealed.PendingEnrollment) throws {
    let kind = try FactorKind(rawValue: message.kind).required()
    self.init(
      kind: kind, sessionID: try message.sessionID.required(), displayName: message.displayName,
      secret: kind == .totp ? try message.secret.required() : message.secret,
      phoneNumber: message.phoneNumber.presence, sentCode: try message.sentCode.map { try SentCode($0) },
      passkeyChallenge: try message.passkeyChallenge.map { try PasskeyChallenge($0) })
  }

  var message: Sealed.PendingEnrollment {
    Sealed.PendingEnrollment(
      kind: kind.rawValue, sessionID: sessionID, displayName: displayName, secret: secret,
      phoneNumber: phoneNumber ?? "", sentCode: sentCode?.message, passkeyChallenge: passkeyChallenge?.message)
  }
}
