package import Store

package struct SendPhoneCodeRequest: Hashable, Sendable {
  /// E.164.
  package var phoneNumber: String
  package var purpose: FlowPurpose
  /// Of the account, for all purposes but a sign-in.
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

/// Sends six digits to a telephone. The same is done whether or not the number is somebody's (check 39).
package struct SendPhoneCode: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SendPhoneCodeRequest, _ call: CallFacts) async throws -> PhoneCodeSent {
    guard environment.policy.phoneEnabled, environment.policy.textMessagesEnabled else {
      throw Failure(.operationNotAllowed, hint: "This service sends no codes to telephones.")
    }
    try call.requireBinding(environment.policy)
    let token = try sessionToken(of: request)
    var query = Query()
    query.phoneNumber = request.phoneNumber
    query.sessionID = token?.sessionID
    let throttle = environment.throttle(
      .sends, of: request.phoneNumber, byDevice: request.purpose != .link, isVerified: token != nil, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
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
        throw Failure(.invalidField, field: "id_token", hint: "A code that signs in takes none.")
      }
      return nil
    }
    return try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
  }

  private func send(
    _ request: SendPhoneCodeRequest, of callerID: String?, _ ownerID: String?, _ counts: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<PhoneCodeSent> {
    let code = HeldCode(
      purpose: request.purpose, accountID: callerID ?? "", digits: environment.randomness.digits(SentCode.digits),
      locale: request.locale)
    let pending = environment.newCode(
      code, purpose: .phoneCode, identity: .phone(request.phoneNumber), accountID: callerID ?? ownerID ?? "",
      lifetimeMillis: environment.policy.phoneCodeLifetimeMillis, call: call, now: now)
    let message = OutgoingMessage(
      .phoneCode, to: .phoneNumber(request.phoneNumber), locale: request.locale, values: ["code": code.digits],
      expiresAt: pending.record.expiresAt)
    return .commit(
      Change(counts + environment.insert(pending) + [environment.enqueue(message, now: now)]),
      PhoneCodeSent(verificationID: pending.handle, expiresAt: pending.record.expiresAt))
  }
}

/// Mails a link that signs in. The same is done whether or not the address is somebody's (check 39).
package struct SendEmailLink: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// - Parameter email: normalised.
  package func callAsFunction(_ email: String, _ order: MailOrder, _ call: CallFacts) async throws -> Timestamp {
    guard environment.policy.emailLinkEnabled else {
      throw Failure(.operationNotAllowed, hint: "Sign-in by a mailed link is not enabled.")
    }
    try environment.requireMail(order, call)
    try call.requireBinding(environment.policy)
    var query = Query()
    query.email = email
    let throttle = environment.throttle(.sends, of: email, byDevice: true, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let pending = environment.newCode(
        HeldCode(), purpose: .emailLink, identity: .mail(email), email: email,
        accountID: facts.emailOwner?.account.id ?? "",
        lifetimeMillis: environment.policy.emailLinkLifetimeMillis, call: call, now: now)
      let mail = environment.mail(.emailLink, pending, to: email, order, now)
      return .commit(Change(counts + environment.insert(pending) + [mail]), pending.record.expiresAt)
    }
  }
}

/// Mails a link with which a new password is set, where the address is an account's. For an unknown one a row is
/// written that nothing ever opens, and its mail is put into the queue and taken out again, so that both take the same
/// way and meet the same limits (check 39).
package struct SendPasswordReset: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// - Parameter email: normalised.
  package func callAsFunction(_ email: String, _ order: MailOrder, _ call: CallFacts) async throws -> Timestamp {
    guard environment.policy.passwordEnabled else {
      throw Failure(.operationNotAllowed, hint: "Passwords are not enabled.")
    }
    try environment.requireMail(order, call)
    var query = Query()
    query.email = email
    let throttle = environment.throttle(.resets, of: email, byDevice: true, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.first(query), call: call) { facts, now in
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let owner = facts.emailOwner
      let pending = environment.newCode(
        HeldCode(), purpose: .resetPassword, identity: .mail(email), email: email,
        accountID: owner?.account.id ?? "", lifetimeMillis: environment.policy.passwordResetLifetimeMillis,
        call: call, now: now)
      var mail = [environment.mail(.resetPassword, pending, to: email, order, now)]
      if owner == nil { mail += mail.compactMap(\.undoingEnqueue) }
      return .commit(Change(counts + environment.insert(pending) + mail), pending.record.expiresAt)
    }
  }
}

extension Write {
  /// Takes out of the queue what this puts in.
  fileprivate var undoingEnqueue: Write? {
    guard case .enqueueDelivery(let delivery, _) = self else { return nil }
    return .removeDelivery(id: delivery.id)
  }
}
