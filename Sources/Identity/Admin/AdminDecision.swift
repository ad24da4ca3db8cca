import Store

/// What becomes of an account that an administrator changes.
enum AdminDecision: Hashable, Sendable {
  /// It is so already: nothing is written, so that nothing is remembered either.
  case unchanged
  /// - Parameter state: after the change.
  case change(state: AccountState, writes: [Write], notes: [AuditNote])

  /// Shutting an account ends its sessions, and with them what custom tokens could open again: whoever holds one from
  /// before is not let in when the account is opened again.
  static func setDisabled(_ disabled: Bool, _ state: AccountState, now: Timestamp) -> AdminDecision {
    guard state.account.disabled != disabled else { return .unchanged }
    var edit = AccountEdit(state)
    edit.edited.account.disabled = disabled
    if disabled { edit.cutOff(at: now, reason: "disabled") }
    return .change(
      state: edit.state, writes: edit.writes,
      notes: [AuditNote(disabled ? .disabled : .enabled, accountID: state.account.id)])
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
    var edit = AccountEdit(state)
    edit.cutOff(at: now, reason: "revoked")
    return .change(
      state: edit.state, writes: edit.writes,
      notes: [AuditNote(.sessionsRevoked, accountID: state.account.id, details: ["closed": "\(open)"])])
  }

  /// As its person's own deletion: nothing is kept but the id, which is never given again.
  static func erase(_ state: AccountState, now: Timestamp) -> AdminDecision {
    let account = state.account
    let closed = ClosedAccountRecord(id: account.id, closedAt: now)
    return .change(
      state: state, writes: [.closeAccount(closed, version: account.version)],
      notes: [AuditNote(.deleted, accountID: account.id, details: byAdministrator)])
  }

  /// With the recovery codes, which stood in for them. What was begun before does not go on without them: sessions,
  /// custom tokens and calls that wait for a factor end. The way back from a change of address stays its owner's.
  /// - Parameter notices: to the account's person.
  static func removeSecondFactors(_ state: AccountState, notices: [Write], now: Timestamp) -> AdminDecision {
    guard !state.factors.isEmpty else { return .unchanged }
    let id = state.account.id
    var edit = AccountEdit(state)
    for factor in state.factors { edit.withdraw(factor) }
    edit.cutOff(at: now, reason: "factors_removed")
    edit.hanging.append(.deletePendings(accountID: id, sparing: .revertEmail))
    let notes = state.factors.map { factor in
      var details = byAdministrator
      details["kind"] = factor.kind.rawValue
      details["factor_id"] = factor.id
      return AuditNote(.factorWithdrawn, accountID: id, details: details)
    }
    return .change(state: edit.state, writes: edit.writes + notices, notes: notes)
  }

  /// Of what a person can do as well.
  private static let byAdministrator = ["by": "administrator"]
}

extension AccountEdit {
  mutating func cutOff(at now: Timestamp, reason: String) {
    edited.account.tokensValidAfter = now
    hanging.append(.closeSessions(accountID: edited.account.id, except: nil, at: now, reason: reason))
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
      case .unchanged: return .answer((state, facts))
      case .change(let changed, let writes, let notes):
        return .commit(Change(writes + notes.map { audit($0, call: call, now: now) }), (changed, facts))
      }
    }
  }
}
