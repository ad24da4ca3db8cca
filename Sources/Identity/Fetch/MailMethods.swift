import Store

/// Emails the sign-in methods that FetchProviders must not return for a pending token (section 7).
///
/// They go to the account's email address, once per pending token, if mail is configured.
package struct MailMethods: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Whether this can apply to a pending token of the caller.
  package func mayApply(to call: CallFacts) -> Bool {
    environment.policy.mailEnabled && !environment.reveals(.unverified, to: call)
  }

  package func callAsFunction(_ reading: FetchByPendingToken, _ call: CallFacts) async throws -> ProvidersAnswer {
    let facts = try await environment.first(reading.query)
    let answer = try reading.answer(facts)
    guard let withheld = withheld(facts, call) else { return answer }
    var query = reading.query
    query.spentToken = withheld.mark
    let throttle = environment.throttle(.sends, of: withheld.email, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      var answer = try reading.answer(facts)
      guard let withheld = self.withheld(facts, call) else { return .answer(answer) }
      answer.methodsMailed = facts.tokenSpent
      // A recipient over the limit gets no email, but the call succeeds.
      guard !facts.tokenSpent, let admitted = try? throttle.admit(facts, now: now) else { return .answer(answer) }
      answer.methodsMailed = true
      return .commit(Change(admitted.count(at: now) + mail(withheld, now)), answer)
    }
  }

  private struct Withheld {
    var accountID: String
    var email: String
    var methods: [String]
    var providerID: String
    var expiresAt: Timestamp
    /// Marks the pending token once the email is queued.
    var mark: Digest
  }

  private func withheld(_ facts: Facts, _ call: CallFacts) -> Withheld? {
    guard let row = facts.pending, row.purpose == .link, !environment.reveals(row.tier, to: call),
      let state = facts.pendingAccount, let email = state.account.email, email == row.email
    else { return nil }
    let methods = environment.waysToComplete(row, state).methods
    guard !methods.isEmpty else { return nil }
    return Withheld(
      accountID: state.account.id, email: email, methods: methods, providerID: row.identity.providerID,
      expiresAt: row.expiresAt,
      mark: environment.cryptography.sha256(Array("methods mailed ".utf8) + row.digest.bytes))
  }

  private func mail(_ withheld: Withheld, _ now: Timestamp) -> [Write] {
    let message = OutgoingMessage(
      .signInMethods, to: .email(withheld.email),
      values: ["methods": withheld.methods.joined(separator: ", "), "provider_id": withheld.providerID],
      expiresAt: now.adding(millis: environment.policy.noticeLifetimeMillis))
    return [
      .record(.spendToken(withheld.mark, expiresAt: withheld.expiresAt)),
      environment.enqueue(message, for: withheld.accountID, now: now),
    ]
  }
}
