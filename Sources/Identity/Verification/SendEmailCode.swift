package import Store

package struct SendEmailCodeRequest: Hashable, Sendable {
  /// Normalised. Empty: the account's own address.
  package var email: String
  package var purpose: EmailCodePurpose
  /// The ID token of the account; empty if the purpose needs no session.
  package var idToken: String
  /// The page of a link in the same email; empty: the email has none.
  package var mail: MailOrder

  package init(
    email: String = "", purpose: EmailCodePurpose = .signIn, idToken: String = "",
    mail: MailOrder = MailOrder(continueURI: "")
  ) {
    self.email = email
    self.purpose = purpose
    self.idToken = idToken
    self.mail = mail
  }
}

package struct EmailCodeSent: Hashable, Sendable {
  package var verificationID: String
  package var expiresAt: Timestamp
}

/// Sends a code of six digits by email.
///
/// Does the same whether or not an account has the address (check 39), as the calls that send links.
package struct SendEmailCode: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SendEmailCodeRequest, _ call: CallFacts) async throws -> EmailCodeSent {
    try requireEnabled(request, call)
    return request.purpose.needsSession
      ? try await sendInSession(request, call) : try await sendWithoutSession(request, call)
  }

  private func requireEnabled(_ request: SendEmailCodeRequest, _ call: CallFacts) throws(Failure) {
    let policy = environment.policy
    guard policy.emailCodes != .off, policy.mailEnabled else {
      throw Failure(.operationNotAllowed, hint: "Codes by email are not enabled on this server.")
    }
    if !request.mail.continueURI.isEmpty {
      try call.requireRedirect(request.mail.continueURI, field: "continue_uri")
    }
    let setsPassword = request.purpose == .signUp || request.purpose == .resetPassword
    guard policy.passwordEnabled || !setsPassword else {
      throw Failure(.operationNotAllowed, hint: "Passwords are not enabled.")
    }
    if request.purpose == .signUp, let failure = policy.refusalToCreate(email: request.email, field: "email") {
      throw failure
    }
    try call.requireBinding(policy)
  }

  private func sendWithoutSession(_ request: SendEmailCodeRequest, _ call: CallFacts) async throws -> EmailCodeSent {
    var query = Query()
    query.email = request.email
    let sends = environment.throttle(
      request.purpose == .resetPassword ? .resets : .sends, of: request.email, byDevice: request.purpose != .signUp,
      call: call)
    let throttles = request.purpose == .signUp ? [environment.throttle(.signUps, call: call), sends] : [sends]
    for throttle in throttles { throttle.look(into: &query) }
    let facts = try await environment.first(query)
    // Also for a sign-up of a known address, whose owner gets a message of another kind.
    try await environment.requireSend(
      request.purpose.mail, to: .email(request.email), locale: request.mail.locale, call, sends, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let counts = try throttles.flatMap { try $0.admit(facts, now: now).count(at: now) }
      return send(request, to: request.email, nil, facts.emailOwner, counts, call, now)
    }
  }

  private func sendInSession(_ request: SendEmailCodeRequest, _ call: CallFacts) async throws -> EmailCodeSent {
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let facts = try await environment.first(query)
    let verifies = request.purpose == .verifyEmail
    let before = try SessionCheck.open(
      token, in: facts, call: call, restrictedToo: verifies, now: environment.clock.now())
    let email = try recipient(request, before)
    // The address is verified, so its known devices are the user's.
    let byDevice = request.purpose == .reauthenticate
    let throttle = environment.throttle(.sends, of: email, byDevice: byDevice, isVerified: true, call: call)
    throttle.look(into: &query)
    let loaded = try await environment.load(query)
    try await environment.requireSend(
      request.purpose.mail, to: .email(email), locale: request.mail.locale, call, throttle, loaded)
    return try await environment.decideAndCommit(query, loaded, call: call) { facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: verifies, now: now)
      guard try recipient(request, caller) == email else { return .refuse(SendEmailCode.noAddress) }
      if request.purpose == .changeEmail,
        let refusal = SendEmailChange.refusal(caller, email, field: "email", environment.policy, now)
      {
        return .refuse(refusal)
      }
      let counts = try throttle.admit(facts, now: now).count(at: now)
      return send(request, to: email, caller, nil, counts, call, now)
    }
  }

  /// Returns the address of the code. A code to reauthenticate goes to a verified address only.
  private func recipient(_ request: SendEmailCodeRequest, _ caller: CallerSession) throws(Failure) -> String {
    guard request.purpose.isForOwnAddress else { return request.email }
    let account = caller.state.account
    guard let email = account.email, account.emailVerified || request.purpose == .verifyEmail else {
      throw SendEmailCode.noAddress
    }
    return email
  }

  private static let noAddress = Failure(
    .operationNotAllowed, field: "id_token", hint: "The account has no email address for this purpose.")

  /// - Parameters:
  ///   - caller: nil: the purpose needs no session.
  ///   - owner: the account with the address, for purposes without a session.
  private func send(
    _ request: SendEmailCodeRequest, to email: String, _ caller: CallerSession?, _ owner: AccountState?,
    _ counts: [Write], _ call: CallFacts, _ now: Timestamp
  ) -> Step<EmailCodeSent> {
    let (policy, purpose) = (environment.policy, request.purpose)
    let callerID = caller?.state.account.id ?? ""
    let accountID = caller == nil ? owner?.account.id ?? "" : callerID
    let carriesLink =
      policy.emailCodes == .codeAndLink && !request.mail.continueURI.isEmpty
      && (purpose.linkPurpose != .emailLink || policy.emailLinkEnabled)
    let held = PendingCode(
      accountID: callerID, digits: environment.randomness.digits(SentCode.digits),
      continueURI: request.mail.continueURI, locale: request.mail.locale, emailPurpose: purpose,
      sessionID: caller?.session.id ?? "", carriesLink: carriesLink)
    let code = environment.newCode(
      held, purpose: .emailCode, identity: purpose.codeKey(email: email, accountID: callerID), email: email,
      accountID: accountID, lifetimeMillis: policy.emailCodeLifetimeMillis, call: call, now: now)
    var writes = caller.map { [Write.session(.requireOpen(id: $0.session.id, at: now))] } ?? []
    writes += counts + environment.insert(code)
    var values = ["code": held.digits]
    if carriesLink {
      var ofLink = held
      (ofLink.digits, ofLink.sessionID, ofLink.carriesLink) = ("", "", false)
      let link = environment.newCode(
        ofLink, purpose: purpose.linkPurpose, identity: purpose.linkKey(email: email, accountID: callerID),
        email: email, accountID: accountID, lifetimeMillis: policy.emailCodeLifetimeMillis, call: call, now: now)
      writes += environment.insert(link)
      values["link"] = environment.link(of: link, to: email, request.mail)
    }
    writes += mail(request, values, to: email, of: accountID, code, now)
    return .commit(Change(writes), EmailCodeSent(verificationID: code.handle, expiresAt: code.record.expiresAt))
  }

  /// Returns the writes that queue the email. For a reset of an unknown address they queue it and remove it again; for
  /// the sign-up of a known one they queue a notice instead (check 39).
  private func mail(
    _ request: SendEmailCodeRequest, _ values: [String: String], to email: String, of accountID: String,
    _ code: NewPending, _ now: Timestamp
  ) -> [Write] {
    let isKnown = request.purpose == .signUp && !accountID.isEmpty
    let message = OutgoingMessage(
      isKnown ? .signUpKnown : request.purpose.mail, to: .email(email), locale: request.mail.locale,
      values: isKnown ? [:] : values, expiresAt: code.record.expiresAt)
    let queued = environment.enqueue(message, for: accountID, now: now)
    guard request.purpose == .resetPassword, accountID.isEmpty else { return [queued] }
    return [queued] + [queued].compactMap(\.undoingEnqueue)
  }
}
