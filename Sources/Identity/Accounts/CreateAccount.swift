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
  /// What that email had. nil: the user has none yet.
  package var proof: EmailProof?

  package init(
    email: String, password: String, displayName: String = "", photoURL: String = "",
    mail: MailOrder = MailOrder(continueURI: ""), proof: EmailProof? = nil
  ) {
    self.email = email
    self.password = password
    self.displayName = displayName
    self.photoURL = photoURL
    self.mail = mail
    self.proof = proof
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
    try await environment.repeatingTwin(call) { try await once(request, call) }
  }

  private func once(_ request: CreateAccountRequest, _ call: CallFacts) async throws -> CreateAnswer {
    let guesses = environment.throttle(.passwordFailures, of: request.email, byDevice: true, call: call)
    if let record = try await environment.recorded(call, guesses, of: request.email) {
      return try await repeated(record, call)
    }
    if let failure = environment.policy.refusalToCreate(email: request.email, field: "email") { throw failure }
    var query = Query()
    if let proof = request.proof {
      query.code = try environment.digest(of: proof)
      _ = try open(proof, try await environment.first(query), request, call, environment.clock.now())
      let verified = try await environment.prove(proof, for: CodeUse(email: [.signUp]), call)
      return try await create(request, .code(proof, verified), query, call)
    }
    if environment.policy.signUp == .verifyFirst {
      return try await environment.sendSignUp(request, call)
    }
    let throttle = environment.throttle(.signUps, call: call)
    throttle.look(into: &query)
    let admitted = try throttle.admit(try await environment.first(query), now: environment.clock.now())
    return try await create(request, .counted(admitted), query, call)
  }

  /// What limits a sign-up: its count, or a code that was sent to the address.
  private enum SignUpLimit: Sendable {
    case counted(AdmittedAttempt)
    case code(EmailProof, VerifiedCode?)
  }

  private func create(
    _ request: CreateAccountRequest, _ limit: SignUpLimit, _ query: Query, _ call: CallFacts
  ) async throws -> CreateAnswer {
    let hash = try await environment.hashNew(request.password, field: "password", call: call)
    var query = query
    query.email = request.email
    query.look(for: call.idempotency)
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call, userInfo: nil) {
      facts, now -> Step<SessionOpening> in
      let taken = Failure(.emailAlreadyInUse, field: "email", hint: "Another account uses this email address.")
      switch limit {
      case .counted(let admitted):
        let counts = admitted.count(at: now)
        // Count it like a sign-up, because this failure reveals that the address has an account.
        guard facts.emailOwner == nil else {
          return .refuse(taken, writing: counts.isEmpty ? nil : Change(counts))
        }
        return create(request, hash: hash, nil, counts, call, now)
      case .code(let proof, let verified):
        let code = try open(proof, facts, request, call, now)
        guard facts.emailOwner == nil else { return .refuse(taken) }
        return create(request, hash: hash, code, verified?.resets(at: now) ?? [], call, now)
      }
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(let opening):
      return asNew(try await environment.grant(opening.session, opening.state, now: environment.clock.now()))
    }
  }

  /// Opens the code of a sign-up. The code of a link requires no binding: the user who follows the link sets the
  /// password, and the page shows the email address.
  private func open(
    _ proof: EmailProof, _ facts: Facts, _ request: CreateAccountRequest, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedCode {
    let code = try environment.open(proof, facts.code, [.signUp], call, now)
    guard code.row.email == request.email else {
      throw Failure.otherMailbox(code.kind, field: "email")
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
    let spent = code.map { $0.spend(for: account.id, sessionID: opened.record.id, now: now) } ?? []
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
