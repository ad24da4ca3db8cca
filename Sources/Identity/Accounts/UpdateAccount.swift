import Store

package struct UpdateAccountRequest: Hashable, Sendable {
  package var idToken: String
  /// New values. In these fields, nil means no change.
  package var displayName: String?
  package var photoURL: String?
  /// Normalised.
  package var email: String?
  /// In NFKC.
  package var newPassword: String?
  /// Email with the revert link after a change of address. nil: no such email.
  package var mail: MailOrder?

  package init(
    idToken: String, displayName: String? = nil, photoURL: String? = nil, email: String? = nil,
    newPassword: String? = nil, mail: MailOrder? = nil
  ) {
    self.idToken = idToken
    self.displayName = displayName
    self.photoURL = photoURL
    self.email = email
    self.newPassword = newPassword
    self.mail = mail
  }
}

/// Changes the account of an ID token. The tokens of the answer contain the new values.
package struct UpdateAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: UpdateAccountRequest, _ call: CallFacts) async throws -> SessionGrant {
    if let record = try await environment.recorded(call) {
      return try await environment.repeatSession(of: record, call: call)
    }
    if let mail = request.mail { try environment.requireMail(mail, call) }
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    query.email = request.email
    query.look(for: call.idempotency)
    // The new email address receives a notice of the change, and may belong to another user.
    let throttle = request.email.map { environment.throttle(.sends, of: $0, isVerified: true, call: call) }
    throttle?.look(into: &query)
    // A new password ends an attacker's sessions. It has a count of its own, which the attacker's other changes cannot
    // use up.
    let matter = request.newPassword == nil ? ThrottledMatter.changes : .passwordChanges
    let changes = environment.throttle(matter, of: token.accountID, call: call)
    changes.look(into: &query)
    var facts = try await environment.first(query)
    _ = try changes.admit(facts, now: environment.clock.now())
    var change = AccountChange(displayName: request.displayName, photoURL: request.photoURL, email: request.email)
    if let password = request.newPassword {
      let now = environment.clock.now()
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      try UpdateDecision.requireProof(
        caller, newEmail: false, newPassword: true, policy: environment.policy, now: now)
      change.passwordHash = try await environment.hashNew(password, field: "new_password", call: call)
      facts = try await environment.load(query)
    }
    let mayReveal = call.mayFetchByEmail || !environment.policy.emailEnumerationProtection
    let settled = try await environment.settle(query, facts, call: call) { [change] facts, now -> Step<Result> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      let decision = UpdateDecision.decide(
        change, caller, emailOwner: facts.emailOwner, mayReveal: mayReveal, policy: environment.policy, now: now)
      switch decision {
      case .refuse(let failure):
        // Count it like a change, because this failure reveals that the address has an account.
        guard failure.reason == .emailAlreadyInUse, let admitted = try throttle?.admit(facts, now: now) else {
          return .refuse(failure)
        }
        return .refuse(failure, writing: Change(admitted.count(at: now)))
      case .update(let update):
        let admitted = update.newEmail == nil ? nil : try throttle?.admit(facts, now: now)
        let counted = [admitted, try changes.admit(facts, now: now)].compactMap(\.self)
        return commit(update, caller, request.mail, counting: counted.flatMap { $0.count(at: now) }, call, now)
      }
    }
    return try await environment.grant(settled, call)
  }

  /// Returns the codes that survive an update.
  ///
  /// A session alone must not end the revert link that was sent to the first owner. A new password must not end the
  /// codes that the owner of the mailbox requested. A new address ends the codes that were sent to the old one.
  private static func spared(by update: AccountUpdate) -> [PendingPurpose] {
    update.newEmail == nil ? PendingPurpose.ofTheMailbox : [.revertEmail]
  }

  private typealias Result = (OpenedSession, AccountState)

  /// Writes an update.
  ///
  /// After a new name or photo, the session of the call continues. A new email address or password ends every session
  /// that was opened before it. Another holder of the session's tokens then does not share the new session.
  private func commit(
    _ update: AccountUpdate, _ caller: CallerSession, _ mail: MailOrder?, counting counts: [Write],
    _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    let accountID = caller.state.account.id
    let opened: OpenedSession
    var writes: [Write]
    if update.endsOtherSessions {
      opened = environment.continueSession(caller.session, call: call, now: now)
      let reason = update.isNewPassword ? SessionClosedReason.passwordChanged : .emailChanged
      writes = [.session(.requireOpen(id: caller.session.id, at: now))] + counts + update.edit.writes
      writes += [
        .closing(caller.session, at: now, reason: .continued),
        .session(.closeAll(accountID: accountID, except: nil, at: now, reason: reason)),
        .pending(.deleteAll(accountID: accountID, sparing: UpdateAccount.spared(by: update))),
        .session(.insert(opened.record)),
      ]
    } else {
      let kept = environment.keepSession(caller.session, now: now)
      (opened, writes) = (kept.opened, kept.writes + counts + update.edit.writes)
    }
    if update.isNewProfile {
      writes.append(environment.audit(AuditNote(.profileChanged, accountID: accountID), call: call, now: now))
    }
    if let email = update.newEmail {
      writes.append(environment.audit(AuditNote(.emailChanged, accountID: accountID), call: call, now: now))
      let values = ["new_email": email]
      let back = mail.map { environment.wayBack(to: caller.state.account, $0, values: values, call, now) } ?? []
      // The revert email notifies the old address, which needs no other notice.
      let notified = back.isEmpty ? caller.state : update.edit.state
      writes += back + environment.notices(.emailChanged, to: notified, others: [email], values: values, now: now)
    }
    if update.isNewPassword {
      writes.append(environment.audit(AuditNote(.passwordChanged, accountID: accountID), call: call, now: now))
      writes += environment.notices(.passwordChanged, to: caller.state, now: now)
    }
    writes += call.remember(
      "updated", accountID: accountID, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes), (opened, update.edit.state))
  }
}
