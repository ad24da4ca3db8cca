import Store

extension Environment {
  /// Mails what proves the address of an account that is yet to be made, or tells its owner that there is one. A row is
  /// written and a mail is sent either way, so that nobody else learns which it was (check 39).
  ///
  /// Nothing of the request is kept: whoever follows the link sets the password, so that a stranger's password never
  /// waits behind the owner's click (check 5).
  func sendSignUp(_ request: CreateAccountRequest, _ call: CallFacts) async throws -> Timestamp {
    try requireNew(request.password, field: "password")
    try requireMail(request.mail, call)
    var query = Query()
    query.email = request.email
    let throttles = [throttle(.signUps, call: call), throttle(.sends, of: request.email, call: call)]
    for throttle in throttles { throttle.look(into: &query) }
    return try await decideAndCommit(query, try await first(query), call: call) { facts, now in
      let counts = try throttles.flatMap { try $0.admit(facts, now: now).count(at: now) }
      let pending = newCode(
        HeldCode(), purpose: .signUp, identity: .mail(request.email), email: request.email,
        accountID: facts.emailOwner?.account.id ?? "", lifetimeMillis: policy.signUpLifetimeMillis, call: call,
        now: now)
      let mail =
        facts.emailOwner == nil
        ? self.mail(.signUp, pending, to: request.email, request.mail, now)
        : enqueue(
          OutgoingMessage(
            .signUpKnown, to: .email(request.email), locale: request.mail.locale, expiresAt: pending.record.expiresAt),
          now: now)
      return .commit(Change(counts + insert(pending) + [mail]), pending.record.expiresAt)
    }
  }
}
