import Store

package struct FinishEnrollmentRequest: Hashable, Sendable {
  package var idToken: String
  package var enrollmentID: String
  /// Empty for recovery codes.
  package var code: String
  /// Passkeys only.
  package var credentialJSON: String

  package init(idToken: String, enrollmentID: String, code: String, credentialJSON: String = "") {
    self.idToken = idToken
    self.enrollmentID = enrollmentID
    self.code = code
    self.credentialJSON = credentialJSON
  }
}

package struct FinishedEnrollment: Hashable, Sendable {
  package var grant: SessionGrant
  /// Returned to this call and to its repeats under the same key.
  package var recoveryCodes: [String]
}

/// Enrols a factor when the user proves possession of it.
///
/// Every other session of the account ends, because it did not pass the factor.
package struct FinishEnrollment: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ request: FinishEnrollmentRequest, _ call: CallFacts
  ) async throws -> FinishedEnrollment {
    let guesses = environment.throttle(.codeFailures, of: request.enrollmentID, call: call)
    if let record = try await environment.recorded(call, guesses) { return try await again(record, call) }
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.look(for: call.idempotency)
    query.pending = try environment.pendingDigest(request.enrollmentID)
    let throttle = environment.throttle(.codeFailures, ofAccount: token.accountID, call: call)
    throttle.look(into: &query)
    let changes = environment.throttle(.changes, of: token.accountID, call: call)
    changes.look(into: &query)
    var facts = try await environment.first(query)
    let passkey = try await passkey(request, token, facts, call)
    if let passkey {
      query.spentToken = environment.singleUse(of: passkey.credentialID, now: environment.clock.now()).digest
      query.identity = environment.identityKey(of: passkey.credentialID)
      facts = try await environment.load(query)
    }
    let settled = try await environment.settle(query, facts, call: call) { facts, now -> Step<Ended> in
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
      let (row, held) = try environment.openEnrollment(facts.pending, caller, call: call, now: now)
      let refusal = EnrollmentDecision.refusal(
        held.kind, phoneNumber: held.phoneNumber, caller, policy: environment.policy, now: now)
      if let refusal { return .refuse(refusal) }
      let admitted = try throttle.admit(facts, now: now)
      if let passkey,
        facts.tokenSpent || facts.identityOwner != nil || environment.isMadeUp(passkey.credentialID)
      {
        return .refuse(.enrolledPasskeyExists)
      }
      switch prove(ShownCode(code: request.code).plain, passkey, held, now) {
      case .wrong:
        let counts = [.pending(.spendAttempt(row.digest, version: row.version))] + admitted.count(at: now)
        return .commit(Change(counts), .wrongCode)
      case .verified(let secret):
        let counts = try admitted.reset(at: now) + changes.admit(facts, now: now).count(at: now)
        return enrol(held, secret, row, caller, counting: counts, call, now)
      }
    }
    switch settled {
    case .repeated(let record): return try await again(record, call)
    case .decided(.wrongCode): throw Failure.wrongFactorCode
    case .decided(.enrolled(let opened, let state, let recoveryCodes)):
      let grant = try await environment.grant(opened, state, now: environment.clock.now())
      return FinishedEnrollment(grant: grant, recoveryCodes: recoveryCodes)
    }
  }

  /// Repeats the answer with the recovery codes, which the user may never have seen.
  private func again(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> FinishedEnrollment {
    let recoveryCodes = try environment.heldTexts(of: record)
    return FinishedEnrollment(
      grant: try await environment.repeatSession(of: record, call: call), recoveryCodes: recoveryCodes)
  }

  private enum Ended: Sendable {
    /// The commit counts the attempt before the call fails.
    case wrongCode
    case enrolled(OpenedSession, AccountState, recoveryCodes: [String])
  }

  private enum Proof {
    case wrong
    /// The secret of the factor. The step of a TOTP code is now used.
    case verified(FactorSecret)
  }

  private func prove(
    _ code: String, _ passkey: Passkey?, _ held: PendingEnrollment, _ now: Timestamp
  ) -> Proof {
    let cryptography = environment.cryptography
    switch held.kind {
    case .totp:
      let step = TOTP.step(of: code, held.secret, after: nil, at: now, cryptography)
      return step.map { .verified(.totp(secret: held.secret, lastStep: $0)) } ?? .wrong
    case .phone:
      guard let sent = held.sentCode, cryptography.equal(Array(code.utf8), Array(sent.code.utf8)) else {
        return .wrong
      }
      return .verified(.phone)
    case .recoveryCode: return .verified(.phone)
    case .passkey: return passkey.map { .verified(.passkey($0)) } ?? .wrong
    }
  }

  /// Verifies the registration of a passkey, before the records with its credential id are loaded. A wrong one counts
  /// an attempt.
  private func passkey(
    _ request: FinishEnrollmentRequest, _ token: IDToken, _ facts: Facts, _ call: CallFacts
  ) async throws -> Passkey? {
    guard !request.credentialJSON.isEmpty else { return nil }
    let now = environment.clock.now()
    let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
    let (row, held) = try environment.openEnrollment(facts.pending, caller, call: call, now: now)
    guard let challenge = held.passkeyChallenge else { return nil }
    do {
      return try environment.passkeys.verifyRegistration(request.credentialJSON, answering: challenge)
    } catch var failure as Failure {
      let count = Change([.pending(.spendAttempt(row.digest, version: row.version))])
      _ = try await environment.commit(count, CommitDecision())
      failure.field = "passkey_credential_json"
      throw failure
    }
  }
}

// MARK: writes

extension FinishEnrollment {
  private func enrol(
    _ held: PendingEnrollment, _ secret: FactorSecret, _ row: PendingRecord, _ caller: CallerSession,
    counting counts: [Write],
    _ call: CallFacts, _ now: Timestamp
  ) -> Step<Ended> {
    var edit = AccountEdit(caller.state)
    var passing: FactorRecord?
    var recoveryCodes: [String] = []
    var spent: [Write] = []
    var enrolled: FactorRecord
    if held.kind == .recoveryCode {
      let old = caller.state.factors.first { $0.kind == .recoveryCode }
      (enrolled, recoveryCodes) = edit.replaceRecoveryCodes(environment, now: now)
      // A session that passed with one of the old codes keeps its second factor.
      if let old, caller.session.secondFactorID == old.id { passing = enrolled }
    } else {
      let isFirst = !caller.state.hasSecondFactor
      enrolled = FactorRecord(
        id: environment.ids.factor(), accountID: caller.state.account.id, kind: held.kind,
        displayName: held.displayName, phoneNumber: held.phoneNumber, enrolledAt: now)
      if held.kind != .phone { enrolled.sealedSecret = environment.seal(secret, of: enrolled) }
      if case .passkey(let passkey) = secret {
        spent = [environment.singleUse(of: passkey.credentialID, now: now).spending]
      }
      edit.enrol(enrolled)
      passing = enrolled
      if isFirst { (_, recoveryCodes) = edit.replaceRecoveryCodes(environment, now: now) }
    }
    let opened = environment.continueSession(caller.session, passing: passing, call: call, now: now)
    let accountID = caller.state.account.id
    let details = ["kind": enrolled.kind.rawValue, "factor_id": enrolled.id]
    let writes: [Write] =
      [.session(.requireOpen(id: caller.session.id, at: now))] + edit.writes + [
        .pending(.complete(
          row.digest, version: row.version, at: now, accountID: accountID, sessionID: opened.record.id)),
        .session(.closeAll(accountID: accountID, except: nil, at: now, reason: .factorEnrolled)),
        .session(.insert(opened.record)),
        environment.audit(AuditNote(.factorEnrolled, accountID: accountID, details: details), call: call, now: now),
      ]
    let notices = environment.notices(
      .factorEnrolled, to: caller.state, values: ["factor": enrolled.kind.rawValue], now: now)
    let remembered = environment.remember(
      recoveryCodes, accountID: accountID, sessionID: opened.record.id, call, now)
    return .commit(
      Change(writes + spent + notices + counts + remembered),
      .enrolled(opened, edit.state, recoveryCodes: recoveryCodes))
  }
}

extension AccountEdit {
  mutating func enrol(_ factor: FactorRecord) {
    edited.factors.append(factor)
    dependent.append(.factor(.insert(factor)))
  }

  mutating func withdraw(_ factor: FactorRecord) {
    edited.factors.removeAll { $0.id == factor.id }
    dependent.append(.factor(.delete(id: factor.id, accountID: factor.accountID)))
  }

  /// Replaces the recovery codes by a new factor that is enrolled now.
  ///
  /// The new enrolment time matters when the owner reverts an email change: codes that an attacker generated must not
  /// pass for the owner's.
  mutating func replaceRecoveryCodes(
    _ environment: Environment, now: Timestamp
  ) -> (factor: FactorRecord, texts: [String]) {
    let (codes, texts) = RecoveryCodes.make(environment.randomness, environment.cryptography)
    for old in edited.factors where old.kind == .recoveryCode { withdraw(old) }
    var factor = FactorRecord(
      id: environment.ids.factor(), accountID: edited.account.id, kind: .recoveryCode, enrolledAt: now)
    factor.sealedSecret = environment.seal(.recoveryCodes(codes), of: factor)
    enrol(factor)
    return (factor, texts)
  }
}
