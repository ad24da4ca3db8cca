import Store

/// What becomes of an account that an administrator changes.
enum AdminDecision: Hashable, Sendable {
  /// It is so already: nothing is written, so that nothing is remembered either.
  case unchanged
  /// - Parameter state: after the change.
  case change(state: AccountState, writes: [Write], note: AuditNote)

  /// Shutting an account ends its sessions, and with them what custom tokens could open again: whoever holds one from
  /// before is not let in when the account is opened again.
  static func setDisabled(_ disabled: Bool, _ state: AccountState, now: Timestamp) -> AdminDecision {
    guard state.account.disabled != disabled else { return .unchanged }
    var edit = AccountEdit(state)
    edit.edited.account.disabled = disabled
    if disabled { edit.cutOff(at: now, reason: "disabled") }
    return .change(
      state: edit.state, writes: edit.writes,
      note: AuditNote(disabled ? .disabled : .enabled, accountID: state.account.id))
  }

  /// - Parameter json: a JSON object that may stand in a token, or empty.
  static func setCustomClaims(_ json: String, _ state: AccountState) -> AdminDecision {
    guard state.account.customClaimsJSON != json else { return .unchanged }
    var edit = AccountEdit(state)
    edit.edited.account.customClaimsJSON = json
    return .change(
      state: edit.state, writes: edit.writes, note: AuditNote(.customClaimsChanged, accountID: state.account.id))
  }

  /// Also where no session is open: custom tokens that were minted until now count no more.
  static func revokeSessions(_ state: AccountState, open: Int, now: Timestamp) -> AdminDecision {
    var edit = AccountEdit(state)
    edit.cutOff(at: now, reason: "revoked")
    return .change(
      state: edit.state, writes: edit.writes,
      note: AuditNote(.sessionsRevoked, accountID: state.account.id, details: ["closed": "\(open)"]))
  }
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
      case .change(let changed, let writes, let note):
        return .commit(Change(writes + [audit(note, call: call, now: now)]), (changed, facts))
      }
    }
  }
}
