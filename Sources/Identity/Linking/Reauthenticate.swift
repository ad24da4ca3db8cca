import Store

/// Proves the same person again, for what needs a recent login. Never creates, never touches another account.
package struct Reauthenticate: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ request: ReauthenticateRequest, _ call: CallFacts
  ) async throws -> ReauthenticateAnswer {
    try call.requireBinding(environment.policy)
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let facts = try await environment.first(query)
    let before = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
    let verified = try await verify(request.credential, for: before.state.account, call)
    query.spentToken = verified.held.singleUse?.digest
    let later = try await environment.load(query)
    let settled = try await environment.settle(query, later, call: call) { facts, now -> Step<Result> in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      switch ReauthenticateDecision.decide(verified.proof, caller, tokenSpent: facts.tokenSpent, now: now) {
      case .refuse(let failure):
        return .refuse(failure)
      case .secondFactorRequired:
        return hold(verified, caller, call, now)
      case .session(let edit):
        return open(verified, edit, caller, call, now)
      }
    }
    switch settled {
    case .decided(.secondFactor(let required)): return .secondFactorRequired(required)
    case .decided(.session(let opened, let state)):
      var grant = try environment.grant(opened, state, now: environment.clock.now())
      grant.userInfo = verified.userInfo
      return .session(grant)
    case .repeated: throw Failure(.idempotencyKeyReused, debug: "reauthentication takes no key")
    }
  }

  private enum Result {
    case session(OpenedSession, AccountState)
    case secondFactor(SecondFactorRequired)
  }

  private func hold(
    _ verified: Verified, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    var held = verified.held
    held.sessionID = caller.session.id
    let (write, required) = environment.holdForSecondFactor(
      held, caller.state, userInfo: verified.userInfo, call: call, now: now)
    return .commit(Change([.guardSession(id: caller.session.id, at: now), write]), .secondFactor(required))
  }

  /// A login of its own: a new session with its own id and `auth_time` now (check 99). The one that it was made in
  /// stays as it was: other windows of the same person still hold its tokens, and being told UNAUTHENTICATED signs them
  /// out.
  private func open(
    _ verified: Verified, _ edit: AccountEdit, _ caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    let opened = environment.openSession(
      accountID: caller.state.account.id, by: verified.held.firstFactor, call: call, now: now)
    var writes: [Write] = [.guardSession(id: caller.session.id, at: now)] + edit.signInWrites
    if let singleUse = verified.held.singleUse {
      writes.append(.spendToken(singleUse.digest, expiresAt: singleUse.expiresAt))
    }
    writes.append(.insertSession(opened.record))
    return .commit(Change(writes), .session(opened, edit.state))
  }
}

// MARK: the credential

extension Reauthenticate {
  private struct Verified: Sendable {
    var proof: ReauthenticationProof
    /// What is put aside where a second factor has to follow.
    var held: HeldAssertion
    /// What the provider says of the person, to be told in the answer.
    var userInfo: UserInfo?
  }

  private func verify(
    _ credential: Credential, for account: AccountRecord, _ call: CallFacts
  ) async throws -> Verified {
    switch credential {
    case .password(let email, let password):
      let proof = try await verify(email: email, password: password, for: account, call)
      return verified(proof, by: .password, email: email, subject: account.id)
    case .providerToken(let token):
      let verified = try await environment.verify(token)
      let first = FirstFactor.provider(verified.assertion.identity.providerID)
      var held = HeldAssertion(verified.assertion, firstFactor: first, singleUse: verified.singleUse)
      held.intent = .reauthenticate
      return Verified(
        proof: .assertion(verified.assertion), held: held, userInfo: UserInfo(verified.assertion))
    case .customToken(let text):
      let token = try environment.verify(customToken: text)
      return verified(.customToken(token), by: .customToken(token), email: nil, subject: token.accountID)
    case .anonymous:
      throw Failure(.invalidField, field: "credential", hint: "An anonymous credential proves nobody.")
    case .pendingToken:
      throw PendingTable.mismatch("a held credential does not reauthenticate")
    }
  }

  /// Another address than the account's own resolves to somebody else, whoever that is and whatever the password: no
  /// stranger's password is tried here.
  private func verify(
    email: String, password: String, for account: AccountRecord, _ call: CallFacts
  ) async throws -> ReauthenticationProof {
    guard environment.policy.passwordEnabled else { throw Failure.notEnabled(WaysIn.password) }
    guard account.email == email else { throw ReauthenticateDecision.mismatch }
    let check = try await environment.passwords.verify(password, hash: account.passwordHash, fate: call.fate)
    guard check.matches else { throw Failure.wrongPassword }
    return .password(setAt: account.passwordSetAt, upgradedHash: check.upgradedHash)
  }

  private func verified(
    _ proof: ReauthenticationProof, by first: FirstFactor, email: String?, subject: String
  ) -> Verified {
    let identity = IdentityKey(providerID: first.signInProviderID, subject: subject)
    var held = HeldAssertion(Assertion(identity: identity, email: email), firstFactor: first)
    held.intent = .reauthenticate
    return Verified(proof: proof, held: held)
  }
}
