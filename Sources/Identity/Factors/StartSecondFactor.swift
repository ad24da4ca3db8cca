package import Store

package struct StartedFactor: Hashable, Sendable {
  /// Phone factors only; empty for every other kind.
  package var verificationID: String
  package var expiresAt: Timestamp
  /// Passkeys only.
  package var optionsJSON = ""
}

/// Chooses the second factor of a pending call, and sends a code if it is a phone.
package struct StartSecondFactor: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    handle: String, factorID: String, locale: String, _ call: CallFacts
  ) async throws -> StartedFactor {
    try call.requireBinding(environment.policy)
    var query = Query()
    query.pending = try environment.pendingDigest(handle)
    var facts = try await environment.first(query)
    var throttle: Throttle?
    if let row = facts.pending {
      // Counts per account. An attacker could use up a limit per number by requesting other codes for it.
      throttle = environment.throttle(.sends, ofAccount: row.accountID, call: call)
      throttle?.look(into: &query)
      facts = try await environment.load(query)
    }
    if environment.asksBeforeSend(call) { try await requireSend(factorID, locale, throttle, facts, call) }
    return try await environment.decideAndCommit(query, facts, call: call) { [throttle] facts, now in
      let (row, held, owner) = try environment.openForSecondFactor(facts, call: call, now: now)
      let offered = owner.factorsToOffer(behind: held.firstFactor)
      guard let factor = offered.first(where: { $0.id == factorID }) else { return .refuse(.noSuchFactor) }
      if case .passkey(let passkey) = environment.secret(of: factor) {
        return try challenge(passkey, of: factor, row, held, now)
      }
      guard factor.kind == .phone, let number = factor.phoneNumber else {
        return .answer(StartedFactor(verificationID: "", expiresAt: row.expiresAt))
      }
      let admitted = try throttle?.admit(facts, now: now)
      return send(to: number, locale, factor, row, held, counting: admitted?.count(at: now) ?? [], now)
    }
  }

  /// Returns options for a passkey. Their challenge replaces the row's previous one.
  private func challenge(
    _ passkey: Passkey, of factor: FactorRecord, _ row: PendingRecord, _ held: PendingAssertion, _ now: Timestamp
  ) throws -> Step<StartedFactor> {
    let lifetimeMillis = environment.policy.passkeyChallengeLifetimeMillis
    let expiresAt = min(row.expiresAt, now.adding(millis: lifetimeMillis))
    var challenge = environment.newChallenge(.signIn, of: row.accountID, at: passkey.relyingPartyID)
    challenge.factorID = factor.id
    challenge.identified = true
    challenge.expiresAt = expiresAt
    var held = held
    held.passkeyChallenge = challenge
    let options = try environment.passkeys.requestOptions(
      PasskeyRequest(
        challenge: challenge, allowed: [NamedPasskey(passkey)], lifetimeMillis: lifetimeMillis))
    let sealed = environment.cryptography.seal(held.packed, context: PendingTable.context(of: row))
    return .commit(
      Change([.pending(.reseal(row.digest, version: row.version, sealed: sealed))]),
      StartedFactor(verificationID: "", expiresAt: expiresAt, optionsJSON: options))
  }

  /// Asks the hooks about the code, if the factor is a phone.
  private func requireSend(
    _ factorID: String, _ locale: String, _ throttle: Throttle?, _ facts: Facts, _ call: CallFacts
  ) async throws {
    let (_, held, owner) = try environment.openForSecondFactor(facts, call: call, now: environment.clock.now())
    let factor = owner.factorsToOffer(behind: held.firstFactor).first { $0.id == factorID }
    guard factor?.kind == .phone, let number = factor?.phoneNumber else { return }
    try await environment.requireSend(
      .secondFactorCode, to: .phoneNumber(number), locale: locale, call, throttle, facts)
  }

  /// Sends a new code. It replaces the row's previous code, which becomes invalid.
  private func send(
    to number: String, _ locale: String, _ factor: FactorRecord, _ row: PendingRecord, _ held: PendingAssertion,
    counting counts: [Write], _ now: Timestamp
  ) -> Step<StartedFactor> {
    let policy = environment.policy
    guard policy.textMessagesEnabled else { return .refuse(.noTextMessages) }
    guard held.sentCode?.sends ?? 0 < policy.factorCodeSendsMax else {
      return .refuse(
        Failure(.tooManyAttempts, hint: "Sign in again to get another code.", debug: "too many codes of one attempt"))
    }
    let (sent, verificationID) = environment.newCode(
      for: factor.id, expiresAt: min(row.expiresAt, now.adding(millis: policy.factorCodeLifetimeMillis)),
      attemptsLeft: row.attemptsLeft, after: held.sentCode)
    var held = held
    held.sentCode = sent
    let sealed = environment.cryptography.seal(held.packed, context: PendingTable.context(of: row))
    return .commit(
      Change([
        .pending(.reseal(row.digest, version: row.version, sealed: sealed)),
        environment.send(sent, to: number, of: row.accountID, locale: locale, now: now),
      ] + counts),
      StartedFactor(verificationID: verificationID, expiresAt: sent.expiresAt))
  }
}

extension Environment {
  /// Opens the row of a call that waits for its second factor, with the account.
  ///
  /// Another caller or browser gets the same answer as for an unknown pending token.
  func openForSecondFactor(
    _ facts: Facts, call: CallFacts, now: Timestamp
  ) throws(Failure) -> (row: PendingRecord, held: PendingAssertion, owner: AccountState) {
    switch try openPending(facts.pending, purpose: .secondFactor, call: call, now: now) {
    case .completed: throw Failure.rowWasUsed
    case .held(let row, let held):
      guard let owner = facts.pendingAccount else { throw PendingTable.mismatch("the account was deleted") }
      if owner.account.disabled { throw Failure.userIsDisabled }
      if let failure = owner.refusal(ofFirstFactor: held.firstFactor.signInProviderID) { throw failure }
      return (row, held, owner)
    }
  }
}

extension Failure {
  static let noTextMessages = Failure(.operationNotAllowed, hint: "Text messages are not configured on this server.")
}
