import Encodings
package import Store

/// Creation and opening of codes in the pending table.
extension Environment {
  /// Creates the row of a code. `accountID` is empty if no account was found; the row is otherwise the same.
  func newCode(
    _ code: PendingCode, purpose: PendingPurpose, identity: IdentityKey, email: String? = nil, accountID: String,
    lifetimeMillis: Int64, call: CallFacts, now: Timestamp
  ) -> NewPending {
    var pending = newPending(
      code.packed, purpose: purpose, identity: identity, email: email, accountID: accountID,
      lifetimeMillis: lifetimeMillis, call: call, now: now)
    pending.record.attemptsLeft = policy.codeAttemptsMax
    return pending
  }

  /// Returns the writes that replace the previously requested code with this one.
  func insert(_ code: NewPending) -> [Write] {
    [
      .pending(.end(code.record.purpose, code.record.identity)),
      .pending(.insert(code.record, limits: policy.codeLimits)),
    ]
  }

  /// Returns the row key of a code. Throws if the code is malformed.
  func codeDigest(_ code: String, _ kind: CodeKind, field: String) throws(Failure) -> Digest {
    guard let secret = Base64URL.decode(code), secret.count == PendingTable.handleBytes else {
      throw Failure.wrongSentCode("malformed code", kind, field: field)
    }
    return cryptography.sha256(secret)
  }

  /// Opens the row of a code. A code of another caller, browser or purpose fails like an unknown one.
  ///
  /// - Parameter isBound: false for calls without a binding, which redeem codes that were requested without one.
  func openCode(
    _ record: PendingRecord?, _ purposes: Set<PendingPurpose>, isBound: Bool = true, field: String, call: CallFacts,
    now: Timestamp
  ) throws(Failure) -> OpenedCode {
    let kind = CodeKind(purposes)
    guard let record else { throw Failure.wrongSentCode("unknown code", kind, field: field) }
    guard record.caller == call.caller else {
      throw Failure.wrongSentCode("another caller's code", kind, field: field)
    }
    guard !isBound || record.binding == call.binding || hasAnyBinding(record) else {
      throw Failure.wrongSentCode("code of another binding", kind, field: field)
    }
    guard purposes.contains(record.purpose) else {
      throw Failure.wrongSentCode("code for \(record.purpose.rawValue)", kind, field: field)
    }
    guard !record.isExpired(at: now), record.completedAt == nil, record.attemptsLeft > 0 else {
      throw Failure.expiredSentCode(kind, field: field)
    }
    let held = try openContent(
      record.sealed, context: PendingTable.context(of: record), PendingCode.init(packed:),
      or: { Failure.wrongSentCode($0, kind, field: field) })
    return OpenedCode(row: record, held: held)
  }

  /// Returns whether an administrator created the code, for any browser.
  private func hasAnyBinding(_ record: PendingRecord) -> Bool {
    let held = cryptography.open(record.sealed, context: PendingTable.context(of: record))
    return held.flatMap { PendingCode(packed: $0) }?.anyBinding ?? false
  }
}

/// A row that is valid for this call.
package struct OpenedCode: Hashable, Sendable {
  package var row: PendingRecord
  package var held: PendingCode

  var kind: CodeKind { CodeKind([row.purpose]) }

  /// Whether the code is an invitation to an account that a user has entered since (section 14), even if the user can
  /// no longer sign in.
  func isOutdated(for owner: AccountState?, _ policy: Policy) -> Bool {
    guard held.isInvitation else { return false }
    guard let owner, owner.isUnentered(policy) else { return true }
    return owner.account.lastSignInAt.map { $0 >= row.createdAt } ?? false
  }

  /// Returns the writes that use up the code, with the link or code of the same email. They succeed for one call only.
  ///
  /// The row of the six digits comes first, so that two calls lock both rows in the same order.
  func spend(for accountID: String = "", sessionID: String = "", now: Timestamp) -> [Write] {
    let spent = Write.pending(
      .complete(row.digest, version: row.version, at: now, accountID: accountID, sessionID: sessionID))
    guard let purpose = held.emailPurpose, let email = row.email else { return [spent] }
    guard row.purpose == .emailCode else {
      return [.pending(.end(.emailCode, purpose.codeKey(email: email, accountID: held.accountID))), spent]
    }
    guard held.carriesLink else { return [spent] }
    return [spent, .pending(.end(purpose.linkPurpose, purpose.linkKey(email: email, accountID: held.accountID)))]
  }
}

extension Failure {
  /// The failure for a code that does not match. The public text is the same for every reason.
  static func wrongSentCode(_ debug: String, _ kind: CodeKind, field: String) -> Failure {
    Failure(.invalidCode, field: field, hint: "Enter the code that was sent last.", debug: debug).rejecting(kind)
  }

  /// The failure for a code that has expired or was used.
  static func expiredSentCode(_ kind: CodeKind, field: String) -> Failure {
    Failure(.expiredCode, field: field, hint: "Request a new code.").rejecting(kind)
  }

  /// The code is valid. The email address that the user entered with it is the field to correct.
  static func otherMailbox(_ kind: CodeKind, field: String) -> Failure {
    Failure(
      .invalidCode, field: field, hint: "Enter the email address that the message was sent to.",
      debug: "sent to another email address"
    ).rejecting(kind)
  }
}

extension CodeKind {
  /// The kind of the codes with these purposes.
  init(_ purposes: Set<PendingPurpose>) {
    self = purposes == [.phoneCode] ? .phone : purposes == [.emailCode] ? .emailCode : .emailLink
  }
}

/// Keys that find a code's row when the next code is requested.
extension IdentityKey {
  static func phone(_ number: String) -> IdentityKey { IdentityKey(providerID: SignInMethods.phone, subject: number) }

  /// The key of an invitation. It differs from that of other links to the address, so that none of them ends it.
  static func invitation(_ email: String) -> IdentityKey { IdentityKey(providerID: "invitation", subject: email) }

  /// The key of an emailed code: its recipient.
  static func mail(_ email: String) -> IdentityKey { IdentityKey(providerID: SignInMethods.password, subject: email) }

  /// The key of an email change: the account, because it has one change at a time.
  static func addressOf(_ accountID: String) -> IdentityKey {
    IdentityKey(providerID: SignInMethods.password, subject: accountID)
  }
}
