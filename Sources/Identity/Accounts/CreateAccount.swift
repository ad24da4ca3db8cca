import Store

package struct CreateAccountRequest: Hashable, Sendable {
  /// Normalised.
  package var email: String
  /// In NFKC.
  package var password: String
  package var displayName: String
  package var photoURL: String

  package init(email: String, password: String, displayName: String = "", photoURL: String = "") {
    self.email = email
    self.password = password
    self.displayName = displayName
    self.photoURL = photoURL
  }
}

/// Makes an account of a free address and a password. Nobody has proved the address yet.
package struct CreateAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: CreateAccountRequest, _ call: CallFacts) async throws -> SessionGrant {
    if let record = try await environment.recorded(call) { return try await repeated(record, call) }
    var query = Query()
    let throttle = environment.throttle(.signUps, call: call)
    throttle.look(into: &query)
    let admitted = try throttle.admit(try await environment.first(query), now: environment.clock.now())
    let hash = try await environment.hashNew(request.password, field: "password", call: call)
    query.email = request.email
    query.idempotency = call.idempotency?.key
    let facts = try await environment.load(query)
    let settled = try await environment.settle(query, facts, call: call) { facts, now -> Step<Result> in
      guard facts.emailOwner == nil else {
        // Counted like a sign-up: each of these refusals tells whether somebody has an account.
        return .refuse(
          Failure(.emailAlreadyInUse, field: "email", hint: "Another account uses this address."),
          writing: Change(admitted.count(at: now)))
      }
      return create(request, hash: hash, admitted, call, now)
    }
    switch settled {
    case .repeated(let record): return try await repeated(record, call)
    case .decided(let (opened, state)):
      return asNew(try environment.grant(opened, state, now: environment.clock.now()))
    }
  }

  private typealias Result = (OpenedSession, AccountState)

  private func create(
    _ request: CreateAccountRequest, hash: String, _ admitted: AdmittedAttempt, _ call: CallFacts, _ now: Timestamp
  ) -> Step<Result> {
    var account = AccountRecord(id: environment.ids.account(), createdAt: now)
    account.email = request.email
    account.emailSource = WaysIn.password
    account.passwordHash = hash
    account.passwordSetAt = now
    account.displayName = request.displayName
    account.photoURL = request.photoURL
    account.lastSignInAt = now
    let opened = environment.openSession(accountID: account.id, by: .password, call: call, now: now)
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": WaysIn.password])
    let writes: [Write] = [
      .insertAccount(account), .insertSession(opened.record), environment.audit(note, call: call, now: now),
    ]
    let remembered = call.remember(
      "created", accountID: account.id, sessionID: opened.record.id, policy: environment.policy, now: now)
    return .commit(Change(writes + admitted.count(at: now) + remembered), (opened, AccountState(account: account)))
  }

  private func repeated(_ record: IdempotencyRecord, _ call: CallFacts) async throws -> SessionGrant {
    asNew(try await environment.repeatSession(of: record, call: call))
  }

  private func asNew(_ grant: SessionGrant) -> SessionGrant {
    var grant = grant
    grant.isNewAccount = true
    return grant
  }
}
