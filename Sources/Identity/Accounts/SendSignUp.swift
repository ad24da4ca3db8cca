import Store

extension Environment {
  /// Emails a sign-up link for a new account, or notifies the owner of an existing one.
  ///
  /// Both cases write a row and send an email, so that no other user learns which one it was (check 39).
  ///
  /// The server keeps nothing of the request but a keyed digest under its idempotency key. The user who follows the
  /// link sets the password. Another user's password therefore never waits for the owner's click (check 5).
  func sendSignUp(_ request: CreateAccountRequest, _ call: CallFacts) async throws -> CreateAnswer {
    try await requireNew(request.password, field: "password", call: call)
    try requireMail(request.mail, call)
    var query = Query()
    query.email = request.email
    query.look(for: call.idempotency)
    let throttles = [throttle(.signUps, call: call), throttle(.sends, of: request.email, call: call)]
    for throttle in throttles { throttle.look(into: &query) }
    let facts = try await first(query)
    // Also for a known address, whose owner gets a message of another kind.
    try await requireSend(
      .signUp, to: .email(request.email), locale: request.mail.locale, call, throttles.last, facts)
    let settled = try await settle(query, facts, call: call) { facts, now in
      let counts = try throttles.flatMap { try $0.admit(facts, now: now).count(at: now) }
      let pending = newCode(
        PendingCode(), purpose: .signUp, identity: .mail(request.email), email: request.email,
        accountID: facts.emailOwner?.account.id ?? "", lifetimeMillis: policy.signUpLifetimeMillis, call: call,
        now: now)
      let mail =
        facts.emailOwner == nil
        ? self.mail(.signUp, pending, to: request.email, request.mail, now)
        : enqueue(
          OutgoingMessage(
            .signUpKnown, to: .email(request.email), locale: request.mail.locale, expiresAt: pending.record.expiresAt),
          for: pending.record.accountID, now: now)
      let sent = SentSignUp(expiresAt: pending.record.expiresAt)
      // Without the owner, so that the record is the same for a known and a free address.
      let remembered = call.remember(sent.outcome, accountID: "", sessionID: nil, policy: policy, now: now)
      return .commit(Change(counts + insert(pending) + [mail] + remembered), sent)
    }
    switch settled {
    case .decided(let sent): return sent.answer
    case .repeated(let record): return try await CreateAccount(self).repeated(record, call)
    }
  }
}

/// Outcome of a sign-up in an idempotency record: "verification_sent", and the expiry of the code in milliseconds.
struct SentSignUp {
  private static let word = "verification_sent"
  let expiresAt: Timestamp

  init(expiresAt: Timestamp) { self.expiresAt = expiresAt }

  /// Parses an outcome. Returns nil if it is not one of a sign-up.
  init?(outcome: String) {
    let words = outcome.split(separator: " ")
    guard words.count == 2, words[0] == SentSignUp.word, let millis = Int64(words[1]) else { return nil }
    self.init(expiresAt: Timestamp(millis: millis))
  }

  var outcome: String { "\(SentSignUp.word) \(expiresAt.millis)" }
  var answer: CreateAnswer { .verificationSent(expiresAt: expiresAt) }
}
