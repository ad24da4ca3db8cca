package import Store

package struct CreateAccountRequest: Hashable, Sendable {
  /// Normalised.
  package var email: String
  /// In NFKC.
  package var password: String
  package var displayName: String
  package var photoURL: String
  /// Where the link in an email leads.
  package var mail: MailOrder
  /// Code from that email. Empty: the user has none yet.
  package var code: String

  package init(
    email: String, password: String, displayName: String = "", photoURL: String = "",
    mail: MailOrder = MailOrder(continueURI: ""), code: String = ""
  ) {
    self.email = email
    self.password = password
    self.displayName = displayName
    self.photoURL = photoURL
    self.mail = mail
    self.code = code
  }
}

package enum CreateAnswer: Hashable, Sendable {
  case session(SessionGrant)
  case verificationSent(expiresAt: Timestamp)
}

/// Creates an account with a free email address and a password.
///
/// A code that was sent to the address verifies it. The policy can require one.
package struct CreateAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: CreateAccountRequest, _ call: CallFacts) async throws -> CreateAnswer {
    let guesses = environment.throttle(.passwordFailures, of: request.email, byDevice: true, call: call)
    if let record = try await environment.recorded(call, guesses, of: request.email) {
      return try await repeated(record, call)
    }
    var query = Query()
    guard request.code.isEmpty else {
      query.code = try environment.codeDigest(request.code, field: "code")
      _ = try open(try await environment.first(query), request, call, environment.clock.now())
      return try await create(request, nil, query, call)
    }
    if environment.policy.signUp == .verifyFirst {
      return try await environment.sendSignUp(request, call)
    }
    let throttle = environment.throttle(.signUps, call: call)
    throttle.look(into: &query)
    let admitted = try throttle.admit(try await environment.first(query), now: environment.clock.now())
    return try await create(request, admitted, query, call)
  }

  /// - Parameter admitted: nil if a code vouches for the sign-up.
  private func create(
    _ request: CreateAccountRequest, _ admitted: AdmittedAttempt?, _ query: Query, _ call: CallFacts
  ) async throws -> CreateAnswer {
    let hash = try await environment.hashNew(request.password, field: "password", call: call)
    var query = query
    query.email = request.email
    query.look(for: call.idempotency)
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) {
      facts, now -> Step<SessionOpening> in
      let counts = admitted?.count(at: now) ?? []
      let code = admitted == nil ? try open(facts, request, call, now) : nil
      guard facts.emailOwner == nil else {
        // Count it like a sign-up, because this failure reveals that the address has an account.
        return .refuse(
          Failure(.emailAlreadyInUse, field: "email", hint: "Another account uses this email address."),
          writing: counts.isEmpty ? nil : Change(counts))
      }
      return create(request, hash: hash, code, counts, call, now)
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(let opening):
      return asNew(try await environment.grant(opening.session, opening.state, now: environment.clock.now()))
    }
  }

  /// Opens the code of a sign-up. Requires no binding: the user who follows the link sets the password, and the page
  /// shows the email address.
  private func open(
    _ facts: Facts, _ request: CreateAccountRequest, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedCode {
    let code = try environment.openCode(
      facts.code, [.signUp], isBound: false, field: "code", call: call, now: now)
    guard code.row.email == request.email else {
      throw Failure.otherMailbox(field: "email")
    }
    return code
  }

  private func create(
    _ request: CreateAccountRequest, hash: String, _ code: OpenedCode?, _ counts: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) -> Step<SessionOpening> {
    var account = AccountRecord(id: environment.newAccountID(for: call), createdAt: now)
    account.emailAddress = EmailAddress(
      request.email, source: SignInMethods.password, verification: code == nil ? nil : .emailLink)
    account.passwordHash = hash
    account.passwordSetAt = now
    account.displayName = request.displayName
    account.photoURL = request.photoURL
    account.lastSignInAt = now
    let opened = environment.openSession(accountID: account.id, by: .password, call: call, now: now)
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": SignInMethods.password])
    let writes: [Write] = [
      .account(.insert(account)), .session(.insert(opened.record)), environment.audit(note, call: call, now: now),
    ]
    let remembered = call.remember(
      "created", accountID: account.id, sessionID: opened.record.id, policy: environment.policy, now: now)
    let spent = code.map { [$0.spend(for: account.id, sessionID: opened.record.id, now: now)] } ?? []
    return .commit(
      Change(spent + writes + counts + remembered),
      SessionOpening(session: opened, state: AccountState(account: account)))
  }

  func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> CreateAnswer {
    if let sent = SentSignUp(outcome: record.outcome) { return sent.answer }
    return asNew(try await environment.repeatSession(of: record, call: call))
  }

  private func asNew(_ grant: SessionGrant) -> CreateAnswer {
    var grant = grant
    grant.isNewAccount = true
    return .session(grant)
  }
}
