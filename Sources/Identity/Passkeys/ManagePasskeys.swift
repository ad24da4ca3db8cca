package import Store

/// The passkeys of the account, oldest first.
package struct ListPasskeys: Reading {
  private let environment: Environment
  private let call: CallFacts
  private let token: IDToken
  package let query: Query

  package init(_ environment: Environment, idToken: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> [IdentityRecord] {
    try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now()).state.passkeys
  }
}

/// Changes the name of a passkey. Like the name of the account, it needs no recent login.
package struct RenamePasskey: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    idToken: String, passkeyID: String, name: String, _ call: CallFacts
  ) async throws -> IdentityRecord {
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let changes = environment.throttle(.changes, of: token.accountID, call: call)
    changes.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      guard var passkey = caller.state.passkey(passkeyID) else { return .refuse(.noSuchPasskey) }
      if passkey.displayName == name { return .answer(passkey) }
      passkey.displayName = name
      let counts = try changes.admit(facts, now: now).count(at: now)
      let note = AuditNote(
        .passkeyRenamed, accountID: passkey.accountID, details: ["passkey_id": passkey.key.subject])
      let account = caller.state.account
      let writes: [Write] = [
        .session(.requireOpen(id: caller.session.id, at: now)),
        .account(.raise(id: account.id, version: account.version)), .identity(.update(passkey)),
        environment.audit(note, call: call, now: now),
      ]
      return .commit(Change(writes + counts), passkey)
    }
  }
}

/// Removes a passkey, but never the last usable method (P13).
package struct RemovePasskey: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    idToken: String, passkeyID: String, _ call: CallFacts
  ) async throws -> SessionGrant {
    try await environment.changeAccount(of: idToken, call) { caller, now in
      switch UnlinkDecision.removal(of: passkeyID, caller, policy: environment.policy, now: now) {
      case .refuse(let failure): .refuse(failure)
      case .unlink(let edit):
        Unlink(environment).unlink(
          SignInMethods.passkey, edit, caller, details: ["passkey_id": passkeyID], call, now)
      }
    }
  }
}

extension UnlinkDecision {
  /// Decides P13, in the order of section 5.
  static func removal(
    of passkeyID: String, _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> UnlinkDecision {
    guard let passkey = caller.state.passkey(passkeyID) else { return .refuse(.noSuchPasskey) }
    var edit = AccountEdit(caller.state)
    edit.remove(passkey: passkey)
    if SignInMethods(edit.state, policy).isEmpty { return .refuse(lastMethod(SignInMethods.passkey, policy)) }
    do throws(Failure) {
      try SessionCheck.requireRecentLogin(caller, for: .unlink, policy: policy, now: now)
      try SessionCheck.requireSecondFactor(caller)
    } catch {
      return .refuse(error)
    }
    return .unlink(edit)
  }
}

extension AccountState {
  func passkey(_ id: String) -> IdentityRecord? { passkeys.first { $0.key.subject == id } }
}

extension AccountEdit {
  /// Removes a passkey. Nothing is remembered: its credential id is never registered again (P6).
  mutating func remove(passkey: IdentityRecord) {
    edited.identities.removeAll { $0.key == passkey.key }
    dependent.append(.identity(.delete(passkey.key, accountID: passkey.accountID)))
  }
}
