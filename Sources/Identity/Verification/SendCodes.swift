package import Store

package struct SendPhoneCodeRequest: Hashable, Sendable {
  /// The phone number in E.164.
  package var phoneNumber: String
  package var purpose: FlowPurpose
  /// The ID token of the account; empty for a sign-in.
  package var idToken: String
  package var locale: String

  package init(phoneNumber: String, purpose: FlowPurpose = .signIn, idToken: String = "", locale: String = "") {
    self.phoneNumber = phoneNumber
    self.purpose = purpose
    self.idToken = idToken
    self.locale = locale
  }
}

package struct PhoneCodeSent: Hashable, Sendable {
  package var verificationID: String
  package var expiresAt: Timestamp
}

/// Sends a six-digit code to a phone. Does the same whether or not an account has the number (check 39).
package struct SendPhoneCode: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SendPhoneCodeRequest, _ call: CallFacts) async throws -> PhoneCodeSent {
    guard environment.policy.phoneEnabled, environment.policy.textMessagesEnabled else {
      throw Failure(.operationNotAllowed, hint: "Phone codes are not enabled on this server.")
    }
    if let failure = environment.policy.refusal(ofNumber: request.phoneNumber, field: "phone_number") { throw failure }
    try call.requireBinding(environment.policy)
    let token = try sessionToken(of: request)
    var query = Query()
    query.phoneNumber = request.phoneNumber
    query.sessionID = token?.sessionID
    let throttle = environment.throttle(
      .sends, of: request.phoneNumber, byDevice: request.purpose != .link, isVerified: token != nil, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    // A closed session asks no hook.
    _ = try token.map { try SessionCheck.open($0, in: facts, call: call, now: environment.clock.now()) }
    try await environment.requireSend(
      .phoneCode, to: .phoneNumber(request.phoneNumber), locale: request.locale, call, throttle, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let caller = try token.map { try SessionCheck.open($0, in: facts, call: call, now: now) }
      if request.purpose == .reauthenticate, caller?.state.account.phoneNumber != request.phoneNumber {
        return .refuse(ReauthenticateDecision.mismatch(field: "phone_number"))
      }
      return send(request, of: caller?.state.account.id, facts.phoneOwner?.account.id, counts, call, now)
    }
  }

  private func sessionToken(of request: SendPhoneCodeRequest) throws -> IDToken? {
    guard request.purpose != .signIn else {
      guard request.idToken.isEmpty else {
        throw Failure(.invalidField, field: "id_token", hint: "Omit id_token for a sign-in code.")
      }
      return nil
    }
    return try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
  }

  private func send(
    _ request: SendPhoneCodeRequest, of callerID: String?, _ ownerID: String?, _ counts: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<PhoneCodeSent> {
    let code = PendingCode(
      purpose: request.purpose, accountID: callerID ?? "", digits: environment.randomness.digits(SentCode.digits),
      locale: request.locale)
    let pending = environment.newCode(
      code, purpose: .phoneCode, identity: .phone(request.phoneNumber), accountID: callerID ?? ownerID ?? "",
      lifetimeMillis: environment.policy.phoneCodeLifetimeMillis, call: call, now: now)
    let message = OutgoingMessage(
      .phoneCode, to: .phoneNumber(request.phoneNumber), locale: request.locale, values: ["code": code.digits],
      expiresAt: pending.record.expiresAt)
    return .commit(
      Change(
        counts + environment.insert(pending)
          + [environment.enqueue(message, for: pending.record.accountID, now: now)]),
      PhoneCodeSent(verificationID: pending.handle, expiresAt: pending.record.expiresAt))
  }
}

/// Sends a sign-in link by email. Does the same whether or not an account has the address (check 39).
package struct SendEmailLink: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Sends the link and returns its expiry time.
  /// - Parameter email: the normalised email address.
  package func callAsFunction(_ email: String, _ order: MailOrder, _ call: CallFacts) async throws -> Timestamp {
    guard environment.policy.emailLinkEnabled else {
      throw Failure(.operationNotAllowed, hint: "Sign-in links are not enabled.")
    }
    try environment.requireMail(order, call)
    try call.requireBinding(environment.policy)
    var query = Query()
    query.email = email
    let throttle = environment.throttle(.sends, of: email, byDevice: true, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    try await environment.requireSend(.emailLink, to: .email(email), locale: order.locale, call, throttle, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let pending = environment.newCode(
        PendingCode(), purpose: .emailLink, identity: .mail(email), email: email,
        accountID: facts.emailOwner?.account.id ?? "",
        lifetimeMillis: environment.policy.emailLinkLifetimeMillis, call: call, now: now)
      let mail = environment.mail(.emailLink, pending, to: email, order, now)
      return .commit(Change(counts + environment.insert(pending) + [mail]), pending.record.expiresAt)
    }
  }
}

/// Sends a link to set a new password, if an account has the email address.
///
/// For an unknown address it writes a row that no code opens, queues the email and removes it again. So both cases do
/// the same work and meet the same limits (check 39).
package struct SendPasswordReset: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Sends the link and returns its expiry time.
  /// - Parameter email: the normalised email address.
  package func callAsFunction(_ email: String, _ order: MailOrder, _ call: CallFacts) async throws -> Timestamp {
    guard environment.policy.passwordEnabled else {
      throw Failure(.operationNotAllowed, hint: "Passwords are not enabled.")
    }
    try environment.requireMail(order, call)
    var query = Query()
    query.email = email
    let throttle = environment.throttle(.resets, of: email, byDevice: true, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    try await environment.requireSend(.resetPassword, to: .email(email), locale: order.locale, call, throttle, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let owner = facts.emailOwner
      let pending = environment.newCode(
        PendingCode(), purpose: .resetPassword, identity: .mail(email), email: email,
        accountID: owner?.account.id ?? "", lifetimeMillis: environment.policy.passwordResetLifetimeMillis,
        call: call, now: now)
      var mail = [environment.mail(.resetPassword, pending, to: email, order, now)]
      if owner == nil { mail += mail.compactMap(\.undoingEnqueue) }
      return .commit(Change(counts + environment.insert(pending) + mail), pending.record.expiresAt)
    }
  }
}

extension Write {
  /// The write that removes the delivery that this write queues.
  var undoingEnqueue: Write? {
    guard case .delivery(.enqueue(let delivery, _)) = self else { return nil }
    return .delivery(.remove(id: delivery.id))
  }
}
