import Store

/// Effect of an administrator's change on an account.
enum AdminDecision: Hashable, Sendable {
  case refuse(Failure)
  /// The account already has this state. Nothing is written, and no event either.
  case unchanged
  /// - Parameter state: the account after the change.
  case change(state: AccountState, writes: [Write], notes: [AuditNote])

  /// Disables or enables an account.
  ///
  /// Disabling ends the sessions of the account and invalidates its earlier custom tokens. A holder of such a token
  /// stays locked out after the account is enabled again.
  static func setDisabled(_ disabled: Bool, _ state: AccountState, now: Timestamp) -> AdminDecision {
    guard state.account.disabled != disabled else { return .unchanged }
    guard !disabled else {
      let (after, writes) = state.cutOff(at: now, disabling: true, reason: .disabled)
      return .change(state: after, writes: writes, notes: [AuditNote(.disabled, accountID: state.account.id)])
    }
    var edit = AccountEdit(state)
    edit.edited.account.disabled = false
    return .change(
      state: edit.state, writes: edit.writes, notes: [AuditNote(.enabled, accountID: state.account.id)])
  }

  /// - Parameter json: a JSON object that is valid in a token, or empty.
  static func setCustomClaims(_ json: String, _ state: AccountState) -> AdminDecision {
    guard state.account.customClaimsJSON != json else { return .unchanged }
    var edit = AccountEdit(state)
    edit.edited.account.customClaimsJSON = json
    return .change(
      state: edit.state, writes: edit.writes,
      notes: [AuditNote(.customClaimsChanged, accountID: state.account.id)])
  }

  /// Ends all sessions. Also applies without open sessions, because it invalidates earlier custom tokens.
  static func revokeSessions(_ state: AccountState, open: Int, now: Timestamp) -> AdminDecision {
    let (after, writes) = state.cutOff(at: now, reason: .revoked)
    return .change(
      state: after, writes: writes,
      notes: [AuditNote(.sessionsRevoked, accountID: state.account.id, details: ["closed": "\(open)"])])
  }

  /// Deletes an account, like its user's own deletion.
  ///
  /// Keeps only the id, which is never reused. Checks no version, so that concurrent changes do not stop the deletion.
  static func erase(_ state: AccountState, now: Timestamp) -> AdminDecision {
    let id = state.account.id
    return .change(
      state: state, writes: [.account(.close(ClosedAccountRecord(id: id, closedAt: now), version: nil))],
      notes: [AuditNote(.deleted, accountID: id, details: byAdministrator)])
  }

  /// Removes all second factors, and the recovery codes that could replace them.
  ///
  /// Ends what began with the factors: sessions, custom tokens and calls that wait for a factor. The revert link of a
  /// change of email address stays valid for its owner. Decides again only if a concurrent call added or removed a
  /// factor.
  /// - Parameter notices: to the account's user.
  static func removeSecondFactors(_ state: AccountState, notices: [Write], now: Timestamp) -> AdminDecision {
    guard !state.factors.isEmpty else { return .unchanged }
    let id = state.account.id
    var (after, writes) = state.cutOff(at: now, reason: .factorsRemoved)
    after.factors = []
    writes += state.factors.map { .factor(.delete(id: $0.id, accountID: id)) }
    writes += [.factor(.requireNone(accountID: id)), .pending(.deleteAll(accountID: id, sparing: [.revertEmail]))]
    let notes = state.factors.map { factor in
      var details = byAdministrator
      details["kind"] = factor.kind.rawValue
      details["factor_id"] = factor.id
      return AuditNote(.factorWithdrawn, accountID: id, details: details)
    }
    return .change(state: after, writes: writes + notices, notes: notes)
  }

  /// Removes a sign-in method, even the last one, for a user who cannot do it (S8).
  ///
  /// The email address stays verified. Its owner then completes a conflict, or signs in by S12 if no other user can
  /// sign in any more. If no sign-in method is left, all earlier sessions end.
  ///
  /// The remaining methods decide what may be removed, so a change of the account causes a new decision.
  /// - Parameter notices: about what the edit removes, to the account's user.
  static func unlink(
    _ providerID: String, subject: String = "", _ state: AccountState, policy: Policy,
    notices: (AccountEdit) -> [Write], now: Timestamp
  ) -> AdminDecision {
    let id = state.account.id
    var edit = AccountEdit(state)
    do {
      try edit.removeMethod(providerID, subject: subject, keepsAddress: true, policy: policy, now: now)
    } catch {
      return .refuse(error)
    }
    var ended = Write.session(.closeBegun(
      accountID: id, beganWith: providerID, except: nil, at: now, reason: .unlinked))
    if SignInMethods(edit.state, policy).isEmpty {
      edit.edited.account.tokensValidAfter = max(state.account.tokensValidAfter ?? now, now)
      ended = .session(.closeAll(accountID: id, except: nil, at: now, reason: .unlinked))
    }
    var details = byAdministrator
    details["provider_id"] = providerID
    return .change(
      state: edit.state, writes: edit.writes + [ended] + notices(edit),
      notes: [AuditNote(.unlinked, accountID: id, details: details)])
  }

  /// Detail of events that a user can cause as well.
  static let byAdministrator = ["by": "administrator"]
}

extension AccountState {
  /// Returns the account without its sessions and its earlier custom tokens.
  ///
  /// Checks no version. Otherwise an attacker could keep changing the account on a stolen session and win every race.
  func cutOff(
    at now: Timestamp, disabling: Bool = false, reason: SessionClosedReason
  ) -> (state: AccountState, writes: [Write]) {
    var after = self
    after.account.tokensValidAfter = max(account.tokensValidAfter ?? now, now)
    after.account.disabled = account.disabled || disabling
    after.account.version += 1
    let writes: [Write] = [
      .account(.cutOff(accountID: account.id, at: now, disabling: disabling)),
      .session(.closeAll(accountID: account.id, except: nil, at: now, reason: reason)),
    ]
    return (after, writes)
  }
}

extension Environment {
  /// Loads the account, decides and commits. Decides again if another call changed the account.
  func administer(
    _ query: Query, _ call: CallFacts, decide: (AccountState, Facts, Timestamp) -> AdminDecision
  ) async throws -> (state: AccountState, facts: Facts) {
    try await decideAndCommit(query, try await first(query), call: call) { facts, now in
      guard let state = facts.account else { return .refuse(facts.noAccount()) }
      switch decide(state, facts, now) {
      case .refuse(let failure): return .refuse(failure)
      case .unchanged: return .answer((state, facts))
      case .change(let changed, let writes, let notes):
        return .commit(Change(writes + notes.map { audit($0, call: call, now: now) }), (changed, facts))
      }
    }
  }
}
