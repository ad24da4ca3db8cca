import Store

/// What becomes of an account that an administrator changes.
enum AdminDecision: Hashable, Sendable {
  case refuse(Failure)
  /// It is so already: nothing is written, so that nothing is remembered either.
  case unchanged
  /// - Parameter state: after the change.
  case change(state: AccountState, writes: [Write], notes: [AuditNote])

  /// Shutting an account ends its sessions, and with them what custom tokens could open again: whoever holds one from
  /// before is not let in when the account is opened again.
  static func setDisabled(_ disabled: Bool, _ state: AccountState, now: Timestamp) -> AdminDecision {
    guard state.account.disabled != disabled else { return .unchanged }
    guard !disabled else {
      let (shut, writes) = state.cutOff(at: now, disabling: true, reason: SessionRecord.disabledReason)
      return .change(state: shut, writes: writes, notes: [AuditNote(.disabled, accountID: state.account.id)])
    }
    var edit = AccountEdit(state)
    edit.edited.account.disabled = false
    return .change(
      state: edit.state, writes: edit.writes, notes: [AuditNote(.enabled, accountID: state.account.id)])
  }

  /// - Parameter json: a JSON object that may stand in a token, or empty.
  static func setCustomClaims(_ json: String, _ state: AccountState) -> AdminDecision {
    guard state.account.customClaimsJSON != json else { return .unchanged }
    var edit = AccountEdit(state)
    edit.edited.account.customClaimsJSON = json
    return .change(
      state: edit.state, writes: edit.writes,
      notes: [AuditNote(.customClaimsChanged, accountID: state.account.id)])
  }

  /// Also where no session is open: custom tokens that were minted until now count no more.
  static func revokeSessions(_ state: AccountState, open: Int, now: Timestamp) -> AdminDecision {
    let (after, writes) = state.cutOff(at: now, reason: "revoked")
    return .change(
      state: after, writes: writes,
      notes: [AuditNote(.sessionsRevoked, accountID: state.account.id, details: ["closed": "\(open)"])])
  }

  /// As its person's own deletion: nothing is kept but the id, which is never given again. Whatever the account has
  /// become meanwhile goes as well.
  static func erase(_ state: AccountState, now: Timestamp) -> AdminDecision {
    let id = state.account.id
    return .change(
      state: state, writes: [.closeAccount(ClosedAccountRecord(id: id, closedAt: now), version: nil)],
      notes: [AuditNote(.deleted, accountID: id, details: byAdministrator)])
  }

  /// With the recovery codes, which stood in for them. What was begun before does not go on without them: sessions,
  /// custom tokens and calls that wait for a factor end. The way back from a change of address stays its owner's. It is
  /// decided again where a factor came or went meanwhile, and for nothing else.
  /// - Parameter notices: to the account's person.
  static func removeSecondFactors(_ state: AccountState, notices: [Write], now: Timestamp) -> AdminDecision {
    guard !state.factors.isEmpty else { return .unchanged }
    let id = state.account.id
    var (after, writes) = state.cutOff(at: now, reason: "factors_removed")
    after.factors = []
    writes += state.factors.map { .deleteFactor(id: $0.id, accountID: id) }
    writes += [.guardNoFactors(accountID: id), .deletePendings(accountID: id, sparing: [.revertEmail])]
    let notes = state.factors.map { factor in
      var details = byAdministrator
      details["kind"] = factor.kind.rawValue
      details["factor_id"] = factor.id
      return AuditNote(.factorWithdrawn, accountID: id, details: details)
    }
    return .change(state: after, writes: writes + notices, notes: notes)
  }

  /// Also the last way in, for who cannot do it (S8): the address stays with its proof, so that its owner completes a
  /// conflict, or is let in by S12 where nobody else can come in any more. Then nobody who came in before stays.
  ///
  /// What may go depends on what else there is, so that it is decided again where the account was changed meanwhile.
  /// - Parameter notices: of what the edit takes, to the account's person.
  static func unlink(
    _ providerID: String, _ state: AccountState, policy: Policy, notices: (AccountEdit) -> [Write], now: Timestamp
  ) -> AdminDecision {
    let id = state.account.id
    var edit = AccountEdit(state)
    do {
      try edit.removeWayIn(providerID, keepsAddress: true, policy: policy, now: now)
    } catch {
      return .refuse(error)
    }
    var ended = Write.closeSessionsOf(
      accountID: id, beganWith: providerID, except: nil, at: now, reason: "unlinked")
    if WaysIn(edit.state, policy).isEmpty {
      edit.edited.account.tokensValidAfter = max(state.account.tokensValidAfter ?? now, now)
      ended = .closeSessions(accountID: id, except: nil, at: now, reason: "unlinked")
    }
    var details = byAdministrator
    details["provider_id"] = providerID
    return .change(
      state: edit.state, writes: edit.writes + [ended] + notices(edit),
      notes: [AuditNote(.unlinked, accountID: id, details: details)])
  }

  /// Of what a person can do as well.
  private static let byAdministrator = ["by": "administrator"]
}

extension AccountState {
  /// The account without its sessions, and without what custom tokens could open again. No version is asked for: a
  /// thief who keeps the account changing with a stolen session must not win every race against the end of it.
  func cutOff(
    at now: Timestamp, disabling: Bool = false, reason: String
  ) -> (state: AccountState, writes: [Write]) {
    var after = self
    after.account.tokensValidAfter = max(account.tokensValidAfter ?? now, now)
    after.account.disabled = account.disabled || disabling
    after.account.version += 1
    let writes: [Write] = [
      .cutOff(accountID: account.id, at: now, disabling: disabling),
      .closeSessions(accountID: account.id, except: nil, at: now, reason: reason),
    ]
    return (after, writes)
  }
}

extension Environment {
  /// Loads the account, decides and commits; and decides again where somebody else changed it meanwhile.
  func administer(
    _ query: Query, _ call: CallFacts, decide: (AccountState, Facts, Timestamp) -> AdminDecision
  ) async throws -> (state: AccountState, facts: Facts) {
    try await decideAndCommit(query, try await first(query), call: call) { facts, now in
      guard let state = facts.account else { return .refuse(Failure(.accountNotFound)) }
      switch decide(state, facts, now) {
      case .refuse(let failure): return .refuse(failure)
      case .unchanged: return .answer((state, facts))
      case .change(let changed, let writes, let notes):
        return .commit(Change(writes + notes.map { audit($0, call: call, now: now) }), (changed, facts))
      }
    }
  }
}
