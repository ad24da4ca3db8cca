package import Store

/// Sends a verification link to the email address of the ID token's account.
package struct SendEmailVerification: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(idToken: String, _ order: MailOrder, _ call: CallFacts) async throws -> Timestamp {
    try environment.requireMail(order, call)
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let facts = try await environment.first(query)
    let before = try SessionCheck.open(
      token, in: facts, call: call, restrictedToo: true, now: environment.clock.now())
    let email = before.state.account.email
    let throttle = environment.throttle(.sends, of: email ?? "", isVerified: true, call: call)
    throttle.look(into: &query)
    let loaded = try await environment.load(query)
    if let email {
      try await environment.requireSend(.verifyEmail, to: .email(email), locale: order.locale, call, throttle, loaded)
    }
    return try await environment.decideAndCommit(query, loaded, call: call) { facts, now in
      let account = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now).state.account
      let counts = try throttle.admit(facts, now: now).count(at: now)
      guard let email = account.email else {
        return .refuse(Failure(.operationNotAllowed, field: "id_token", hint: "The account has no email address."))
      }
      let pending = environment.newCode(
        PendingCode(), purpose: .verifyEmail, identity: .mail(email), email: email, accountID: account.id,
        lifetimeMillis: environment.policy.emailVerificationLifetimeMillis, call: call, now: now)
      let mail = environment.mail(.verifyEmail, pending, to: email, order, now)
      return .commit(Change(counts + environment.insert(pending) + [mail]), pending.record.expiresAt)
    }
  }
}

/// Sends a link to a new email address for the ID token's account.
///
/// The call does not reveal whether the address is in use. Only a user who controls the mailbox learns that, from the
/// link.
package struct SendEmailChange: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Sends the link and returns its expiry time.
  /// - Parameter newEmail: the normalised email address.
  package func callAsFunction(
    idToken: String, newEmail: String, _ order: MailOrder, _ call: CallFacts
  ) async throws -> Timestamp {
    try environment.requireMail(order, call)
    let token = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let throttle = environment.throttle(.sends, of: newEmail, isVerified: true, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    // A closed session asks no hook.
    _ = try SessionCheck.open(token, in: facts, call: call, now: environment.clock.now())
    try await environment.requireSend(.changeEmail, to: .email(newEmail), locale: order.locale, call, throttle, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, now: now)
      let refusal = SendEmailChange.refusal(caller, newEmail, field: "new_email", environment.policy, now)
      if let refusal { return .refuse(refusal) }
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let accountID = caller.state.account.id
      let held = PendingCode(accountID: accountID, continueURI: order.continueURI, locale: order.locale)
      let pending = environment.newCode(
        held, purpose: .changeEmail, identity: .addressOf(accountID), email: newEmail, accountID: accountID,
        lifetimeMillis: environment.policy.emailChangeLifetimeMillis, call: call, now: now)
      let mail = environment.mail(.changeEmail, pending, to: newEmail, order, now)
      let guarding = [Write.session(.requireOpen(id: caller.session.id, at: now))]
      return .commit(Change(guarding + counts + environment.insert(pending) + [mail]), pending.record.expiresAt)
    }
  }

  static func refusal(
    _ caller: CallerSession, _ newEmail: String, field: String, _ policy: Policy, _ now: Timestamp
  ) -> Failure? {
    let account = caller.state.account
    guard !account.anonymous else {
      return Failure(.operationNotAllowed, field: "id_token", hint: "Link a sign-in method first.")
    }
    guard account.email != newEmail else {
      return Failure(.invalidField, field: field, hint: "The account already has this email address.")
    }
    if let failure = policy.refusal(ofAddress: newEmail, field: field) { return failure }
    do {
      try SessionCheck.requireRecentLogin(caller, for: .changeEmail, policy: policy, now: now)
      try SessionCheck.requireSecondFactor(caller)
      return nil
    } catch {
      return error
    }
  }
}
