import Store

package struct MergeRequest: Hashable, Sendable {
  package var survivorIDToken: String
  package var otherIDToken: String
  package var dryRun: Bool
  package var keep: [MergeKeep]

  package init(survivorIDToken: String, otherIDToken: String, dryRun: Bool = false, keep: [MergeKeep] = []) {
    self.survivorIDToken = survivorIDToken
    self.otherIDToken = otherIDToken
    self.dryRun = dryRun
    self.keep = keep
  }
}

/// Result of a merge. With conflicts, nothing has changed and there is no session.
package struct MergeAnswer: Hashable, Sendable {
  /// Session of the survivor.
  package var session: SessionGrant?
  package var conflicts: [MergeConflict] = []
  package var movedProviderIDs: [String] = []
  package var closedAccountID = ""

  package init() {}
}

/// Moves the data of another account into the survivor and closes the other, for a user who turns out to have two
/// accounts.
package struct MergeAccounts: Sendable {
  let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: MergeRequest, _ call: CallFacts) async throws -> MergeAnswer {
    guard call.callerIdentified, call.mayMerge else {
      throw Failure(.callerNotAllowed, hint: "Use an identified caller for which the operator has set `merge`.")
    }
    if let record = try await environment.recorded(call) { return try await repeated(record, call) }
    let survivor = try verify(request.survivorIDToken, .survivor)
    let other = try verify(request.otherIDToken, .other)
    guard survivor.accountID != other.accountID else {
      throw Failure(.invalidField, field: MergeSide.other.tokenField, hint: "Send the ID token of the other account.")
    }
    var query = Query()
    query.sessionID = survivor.sessionID
    query.otherSessionID = other.sessionID
    query.accountID = other.accountID
    query.look(for: call.idempotency)
    let facts = try await environment.first(query)
    let settled = try await environment.settle(query, facts, call: call) { facts, now -> Step<Result> in
      let survivorCaller = try open(survivor, facts, .survivor, call, now)
      if let closed = facts.closedAccount, closed.survivorID == survivor.accountID {
        return try again(closed, survivorCaller, dryRun: request.dryRun, call, now)
      }
      let otherCaller = try open(other, facts, .other, call, now)
      switch MergeDecision.decide(
        survivor: survivorCaller, other: otherCaller, keep: request.keep, policy: environment.policy, now: now)
      {
      case .refuse(let failure): return .refuse(failure)
      case .merge(let plan): return step(plan, survivorCaller, otherCaller, dryRun: request.dryRun, call, now)
      }
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(.report(let answer)): return answer
    case .decided(.merged(var answer, let opened, let state)):
      answer.session = try await environment.grant(opened, state, now: environment.clock.now())
      return answer
    }
  }

  private func verify(_ token: String, _ side: MergeSide) throws -> IDToken {
    do {
      return try environment.tokens.verifyIDToken(token, at: environment.clock.now())
    } catch let failure as Failure {
      throw failure.of(side)
    }
  }

  private func open(
    _ token: IDToken, _ facts: Facts, _ side: MergeSide, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> CallerSession {
    var facts = facts
    if side == .other {
      facts.session = facts.otherSession
      facts.sessionAccount = facts.otherSessionAccount
    }
    do {
      return try SessionCheck.open(token, in: facts, call: call, now: now)
    } catch {
      throw error.of(side)
    }
  }

  private func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> MergeAnswer {
    var answer = MergeOutcome(record.outcome).answer
    answer.session = try await environment.repeatSession(of: record, call: call)
    return answer
  }
}

/// Outcome of a merge in an idempotency record: "merged", the id of the closed account, and the providers that moved.
/// Neither contains a space.
private struct MergeOutcome {
  var answer = MergeAnswer()

  init(_ answer: MergeAnswer) { self.answer = answer }

  init(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else { return }
    answer.closedAccountID = String(words[1])
    answer.movedProviderIDs = words[2].split(separator: ",").map(String.init)
  }

  var text: String { "merged \(answer.closedAccountID) \(answer.movedProviderIDs.joined(separator: ","))" }
}

// MARK: what is written

extension MergeAccounts {
  private enum Result: Sendable {
    case report(MergeAnswer)
    case merged(MergeAnswer, OpenedSession, AccountState)
  }

  private func step(
    _ plan: MergePlan, _ survivor: CallerSession, _ other: CallerSession, dryRun: Bool, _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<Result> {
    var answer = MergeAnswer()
    answer.conflicts = plan.conflicts
    if dryRun || plan.conflicts.isEmpty {
      answer.movedProviderIDs = plan.movedProviderIDs
      answer.closedAccountID = other.state.account.id
    }
    guard !dryRun, plan.conflicts.isEmpty else { return .answer(.report(answer)) }
    return merge(plan, survivor, other, answer, call, now)
  }

  /// Writes a merge as one change.
  ///
  /// The versions of both accounts guard it. If another call changes one of them at the same time, one of the two calls
  /// decides again. The merge deletes the records of the other account and writes them again for the survivor.
  private func merge(
    _ plan: MergePlan, _ survivor: CallerSession, _ other: CallerSession, _ answer: MergeAnswer, _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<Result> {
    let (survivorID, otherID) = (survivor.state.account.id, other.state.account.id)
    let opened = continueSession(survivor, verifiedToo: other, as: plan.edit.state, call, now)
    let closed = ClosedAccountRecord(
      id: otherID, survivorID: survivorID, movedProviderIDs: plan.movedProviderIDs, closedAt: now)
    var writes: [Write] = [
      .session(.requireOpen(id: survivor.session.id, at: now)), .session(.requireOpen(id: other.session.id, at: now)),
      .account(.close(closed, version: other.state.account.version)),
    ]
    writes += plan.edit.writes
    writes += plan.movedFactors.map { .factor(.insert(environment.moved($0, to: survivorID))) }
    writes += plan.replacedProviderIDs.map {
      .session(.closeBegun(accountID: survivorID, beganWith: $0, except: nil, at: now, reason: .merged))
    }
    // Section 8: the other sessions never showed the factors that the account has now. The session of the call stays
    // open, so that a client that received no answer can repeat the call. An anonymous session ends.
    writes += plan.edit.endOfGuestSessions(at: now)
    writes.append(
      .session(.closeAll(accountID: survivorID, except: survivor.session.id, at: now, reason: .merged)))
    writes.append(.session(.insert(opened.record)))
    let details = ["closed_account_id": otherID, "provider_ids": plan.movedProviderIDs.joined(separator: ",")]
    writes.append(
      environment.audit(AuditNote(.merged, accountID: survivorID, details: details), call: call, now: now))
    let others = other.state.account.emailVerified ? [other.state.account.email].compactMap(\.self) : []
    writes += environment.notices(.merged, to: plan.edit.state, others: others, now: now)
    writes += call.remember(
      MergeOutcome(answer).text, accountID: survivorID, sessionID: opened.record.id, policy: environment.policy,
      now: now)
    return .commit(Change(writes), .merged(answer, opened, plan.edit.state))
  }

  /// Repeats the answer of an earlier merge with these tokens, if the caller can still prove the survivor.
  private func again(
    _ closed: ClosedAccountRecord, _ survivor: CallerSession, dryRun: Bool, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> Step<Result> {
    try MergeDecision.requireProof(survivor, .survivor, policy: environment.policy, now: now)
    var answer = MergeAnswer()
    answer.movedProviderIDs = closed.movedProviderIDs
    answer.closedAccountID = closed.id
    guard !dryRun else { return .answer(.report(answer)) }
    let opened = environment.continueSession(survivor.session, call: call, now: now)
    let writes: [Write] = [.session(.requireOpen(id: survivor.session.id, at: now)), .session(.insert(opened.record))]
    let remembered = call.remember(
      MergeOutcome(answer).text, accountID: survivor.state.account.id, sessionID: opened.record.id,
      policy: environment.policy, now: now)
    return .commit(Change(writes + remembered), .merged(answer, opened, survivor.state))
  }

  /// Continues the survivor's session with the methods of both logins. The call presented both, so a factor that moved
  /// counts as passed.
  private func continueSession(
    _ survivor: CallerSession, verifiedToo other: CallerSession, as state: AccountState, _ call: CallFacts,
    _ now: Timestamp
  ) -> OpenedSession {
    var opened = environment.continueSession(survivor.session, call: call, now: now)
    let (mine, theirs) = (survivor.session.firstFactorMethods, other.session.firstFactorMethods)
    opened.record.methods = mine + theirs.filter { !mine.contains($0) }
    // An anonymous account that becomes permanent logs in for the first time, as by a link (L9). Its login is that of
    // the other account.
    if survivor.state.account.anonymous, !state.account.anonymous {
      opened.record.authTime = other.session.authTime
      opened.record.signInProviderID = other.session.signInProviderID
      opened.record.beganWith = other.session.beganWith
      opened.record.methods = theirs
      opened.record.deviceID = other.session.deviceID
    }
    opened.record.secondFactor = nil
    opened.record.secondFactorID = nil
    if let factor = state.passedFactor(of: survivor.session) ?? state.passedFactor(of: other.session) {
      opened.record.pass(factor)
      let limits = environment.policy.sessionLimits(secondFactor: opened.record.secondFactor)
      opened.record.idleExpiresAt = now.adding(millis: limits.idleMillis)
      opened.record.expiresAt = min(opened.record.expiresAt, now.adding(millis: limits.absoluteMillis))
    }
    return opened
  }
}

extension Environment {
  /// Returns the factor for another account. Seals its secret again, because the seal is bound to the account.
  fileprivate func moved(_ factor: FactorRecord, to accountID: String) -> FactorRecord {
    var moved = factor
    moved.accountID = accountID
    if factor.kind != .phone, let secret = secret(of: factor) { moved.sealedSecret = seal(secret, of: moved) }
    return moved
  }
}
