package import Store

/// The answer to "why can this user not sign in?".
package struct SignInDiagnosis: Sendable {
  package var cause: SignInCause
  package var summary: String
  package var advice: String
  package var state: AccountState?
  package var closed: ClosedAccountRecord?
  /// Enabled methods of the account.
  package var methods: [String]
  package var passwordIsUsable: Bool
  package var blocks: [UserBlock]
  package var failures: [FailureRecord]
  package var messages: [AccountMessage]
  package var pendings: [PendingRecord]
  package var sessions: [SessionRecord]
}

/// Finds out why a user cannot sign in, from one snapshot of everything that the store has about the user.
package struct DiagnoseSignIn: Sendable {
  /// Rows of each kind in an answer, the newest.
  package static let rowsMax = 20
  /// Events that may state why an account is closed or disabled.
  private static let eventsMax = 50
  private static let pendingsMax = 50

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ subject: AccountSubject) async throws -> SignInDiagnosis {
    let found = try await environment.first(subject.query)
    let first = subject.account(in: found)
    let throttles = try await environment.throttles(of: first, subject)
    let query = query(subject, first, throttles)
    let facts = try await environment.load(query)
    let state = facts.account ?? subject.account(in: facts)
    let usable = try await passwordIsUsable(state)
    return diagnosis(facts, state, throttles, passwordIsUsable: usable, environment.clock.now())
  }

  /// Everything about the user, in one snapshot.
  private func query(_ subject: AccountSubject, _ state: AccountState?, _ throttles: [UserThrottle]) -> Query {
    var query = subject.query
    if query.accountID == nil { query.accountID = state?.account.id }
    query.throttles = throttles.map(\.key)
    var support = SupportQuery()
    support.accountID = query.accountID ?? ""
    (support.messagesMax, support.sessionsMax) = (DiagnoseSignIn.rowsMax, DiagnoseSignIn.rowsMax)
    support.pendingsMax = DiagnoseSignIn.pendingsMax
    support.events = EventsBefore(rowsMax: DiagnoseSignIn.eventsMax)
    let providers = (state?.identities.map(\.key.providerID) ?? []).compactMap {
      environment.failureSubject(.method($0)).map { FailuresBefore.Owner.subject($0) }
    }
    let owners = environment.failureOwners(state, id: query.accountID, subject) + Set(providers)
    support.failures = owners.map { FailuresBefore(of: $0, rowsMax: DiagnoseSignIn.rowsMax) }
    if support.accountID.isEmpty {
      (support.messagesMax, support.sessionsMax, support.pendingsMax, support.events) = (0, 0, 0, nil)
    }
    query.support = support
    return query
  }

  private func passwordIsUsable(_ state: AccountState?) async throws -> Bool {
    guard let hash = state?.account.passwordHash else { return true }
    return try await environment.passwords.canVerify(hash: hash)
  }

  private func diagnosis(
    _ facts: Facts, _ state: AccountState?, _ throttles: [UserThrottle], passwordIsUsable: Bool, _ now: Timestamp
  ) -> SignInDiagnosis {
    let support = facts.support ?? SupportFacts()
    let methods = Set(state?.identities.compactMap { environment.failureSubject(.method($0.key.providerID)) } ?? [])
    func newest(_ isIncluded: (FailureRecord) -> Bool) -> [FailureRecord] {
      Array(support.failures.filter(isIncluded).sorted { $0.lastAt > $1.lastAt }.prefix(DiagnoseSignIn.rowsMax))
    }
    var known = DiagnosisFacts(now: now)
    (known.state, known.closed) = (state, state == nil ? facts.closedAccount : nil)
    (known.events, known.passwordIsUsable) = (support.events, passwordIsUsable)
    known.blocks = facts.blocks(of: throttles, at: now)
    known.failures = newest { $0.subject.map { !methods.contains($0) } ?? true }
    known.providerFailures = newest { $0.subject.map(methods.contains) ?? false }
    known.messages = support.messages(at: now, most: DiagnoseSignIn.rowsMax)
    (known.pendings, known.sessions) = (support.pendings, support.sessions)
    let diagnosis = Diagnosis.decide(known, environment.policy)
    return SignInDiagnosis(
      cause: diagnosis.cause, summary: diagnosis.summary, advice: diagnosis.advice, state: state, closed: known.closed,
      methods: state.map { SignInMethods($0, environment.policy).methods } ?? [],
      passwordIsUsable: passwordIsUsable, blocks: known.blocks,
      failures: Array((known.failures + known.providerFailures).prefix(2 * DiagnoseSignIn.rowsMax)),
      messages: known.messages,
      pendings: known.pendings.filter { $0.completedAt == nil && !$0.isExpired(at: now) }, sessions: known.sessions)
  }
}
