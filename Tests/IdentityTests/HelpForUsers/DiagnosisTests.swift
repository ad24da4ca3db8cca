import Encodings
import Store
import Testing

@testable import Identity

private let now = beginning.adding(millis: 10 * 86_400_000)

private func shown(_ time: Timestamp) -> String { rfc3339(time.millis) }

private func ago(_ minutes: Int64) -> Timestamp { now.adding(millis: -minutes * 60_000) }

private func failed(
  _ reason: Failure.Reason, _ minutes: Int64 = 5, call: String = "SignIn", method: String = "password",
  limit: ThrottleKind? = nil, count: Int = 1
) -> FailureRecord {
  FailureRecord(
    key: Digest([UInt8](repeating: UInt8(truncatingIfNeeded: minutes), count: 32)), accountID: "account-y",
    reason: reason.rawValue, call: call, method: method, limit: limit?.rawValue ?? "", count: count,
    firstAt: ago(minutes), lastAt: ago(minutes), keptUntil: now)
}

private func message(
  _ minutes: Int64 = 3, error: String? = nil, buried: String? = nil, sent: Bool = false
) -> AccountMessage {
  var record = DeliveryRecord(
    id: "m", channel: .mail, kind: "reset_password", sealed: [1], createdAt: ago(minutes), expiresAt: ago(-60))
  (record.accountID, record.lastError) = ("account-y", error)
  if let buried { (record.buriedAt, record.buriedReason) = (ago(minutes), buried) }
  let message = AccountMessage(record, at: now)
  guard sent else { return message }
  return AccountMessage(
    SentMessageRecord(
      id: "m", accountID: "account-y", channel: .mail, kind: "reset_password", maskedRecipient: "",
      createdAt: ago(minutes), attempts: 1, sentAt: ago(minutes), keptUntil: now))
}

private func pending(_ purpose: PendingPurpose, _ minutes: Int64 = 2) -> PendingRecord {
  PendingRecord(
    digest: Digest([UInt8](repeating: 1, count: 32)), purpose: purpose,
    identity: IdentityKey(providerID: "google.com", subject: "g"), email: ada, tier: .verified,
    accountID: "account-y", caller: CallerName("shop"), binding: nil, attemptID: "", sealed: [],
    createdAt: ago(minutes), expiresAt: ago(minutes - 10), attemptsLeft: 5)
}

private func session(closed: SessionClosedReason?, _ minutes: Int64 = 1, of caller: String = "shop") -> SessionRecord {
  var session = SessionRecord(
    id: "s", accountID: "account-y", caller: CallerName(caller),
    refreshDigest: Digest([UInt8](repeating: 2, count: 32)), authTime: ago(60), signInProviderID: "password",
    methods: [], audience: "app", createdAt: ago(60), idleExpiresAt: ago(-60), expiresAt: ago(-60))
  session.closed = closed.map { SessionEnd(at: ago(minutes), reason: $0) }
  return session
}

private func audited(_ event: AuditEvent) -> AuditRecord {
  AuditRecord(id: "e", at: ago(9), accountID: "account-y", event: event.rawValue, caller: CallerName("support"))
}

/// One row of the decision: the facts, and the cause that they lead to.
private struct Row: CustomTestStringConvertible, Sendable {
  let name: String
  let cause: SignInCause
  let facts: DiagnosisFacts

  init(_ name: String, _ cause: SignInCause, of state: AccountState? = usual, _ fill: (inout DiagnosisFacts) -> Void) {
    var facts = DiagnosisFacts(now: now)
    facts.state = state
    fill(&facts)
    (self.name, self.cause, self.facts) = (name, cause, facts)
  }

  var testDescription: String { name }
}

private let usual = account(.verified(ada), password: true, identities: [google()]) { $0.lastSignInAt = ago(30) }
private let federated = account(.verified(ada), identities: [google()]) { $0.lastSignInAt = ago(30) }
private let block = UserBlock(kind: .passwordFailuresPerAccount, until: now.adding(millis: 60_000))

private let rows = [
  Row("nothing", .nothingFound) { _ in },
  Row("no account", .noAccount, of: nil) { _ in },
  Row("no account, with attempts", .noAccount, of: nil) { $0.failures = [failed(.invalidLoginCredentials)] },
  Row("no account, and its address is blocked", .blocked, of: nil) { $0.blocks = [block] },
  Row("deleted", .accountDeleted, of: nil) {
    ($0.closed, $0.events) = (ClosedAccountRecord(id: "account-y", closedAt: ago(9)), [audited(.deleted)])
  },
  Row("merged", .accountMerged, of: nil) {
    $0.closed = ClosedAccountRecord(id: "account-y", survivorID: "account-z", closedAt: ago(9))
  },
  Row("idle", .accountIdleRemoved, of: nil) {
    ($0.closed, $0.events) = (ClosedAccountRecord(id: "account-y", closedAt: ago(9)), [audited(.idleRemoved)])
  },
  Row("disabled, whatever else", .accountDisabled, of: account(.verified(ada), password: true, disabled: true)) {
    ($0.blocks, $0.failures, $0.events) = ([block], [failed(.invalidLoginCredentials)], [audited(.disabled)])
  },
  Row("imported hash", .importedPasswordUnusable) {
    ($0.passwordIsUsable, $0.failures) = (false, [failed(.invalidLoginCredentials)])
  },
  Row("block in force", .blocked) { ($0.blocks, $0.failures) = ([block], [failed(.invalidLoginCredentials)]) },
  Row(
    "no enabled method", .noSignInMethod,
    of: account(.verified(ada), identities: [assertion("gone.com", "1", email: ada, tier: .verified)])
  ) {
    $0.failures = [failed(.operationNotAllowed)]
  },
  Row("wrong password", .wrongPassword) {
    $0.failures = [failed(.invalidLoginCredentials, 2, count: 3), failed(.invalidCode, 4)]
  },
  Row("no password", .noPassword, of: federated) { $0.failures = [failed(.invalidLoginCredentials)] },
  Row("second factor", .secondFactorFailed) {
    $0.failures = [failed(.invalidCode, 1, call: "FinishSecondFactor", method: ""), failed(.invalidLoginCredentials)]
  },
  Row("wrong code", .wrongCode) { $0.failures = [failed(.invalidCode, method: "phone")] },
  Row("expired code", .attemptOutdated) { $0.failures = [failed(.expiredCode, method: "phone")] },
  Row("expired second factor", .secondFactorFailed) {
    $0.failures = [failed(.expiredCode, call: "FinishSecondFactor")]
  },
  Row("unverified address", .emailNotVerified) { $0.failures = [failed(.unverifiedEmail, call: "ResetPassword")] },
  Row("denied", .providerDenied) { $0.failures = [failed(.providerDenied, method: "google.com")] },
  Row("provider of the account fails for all", .providerFailing) {
    $0.providerFailures = [failed(.providerMisconfigured, 1, method: "google.com"), failed(.providerDenied, 2)]
  },
  Row("provider failed long ago", .nothingFound, of: account(.verified(ada), password: true)) {
    $0.providerFailures = [failed(.providerMisconfigured, 2_000, method: "google.com")]
  },
  Row("only others denied access", .nothingFound) { $0.providerFailures = [failed(.providerDenied, 1)] },
  Row("rejected credential", .credentialRejected) { $0.failures = [failed(.invalidCredential, method: "google.com")] },
  Row("disabled method", .methodNotEnabled) { $0.failures = [failed(.operationNotAllowed, method: "phone")] },
  Row("limit of the network", .limitReached) {
    $0.failures = [failed(.tooManyAttempts, limit: .passwordFailuresPerNetwork)]
  },
  Row("own block that has ended, then the failure before", .wrongPassword) {
    $0.failures = [
      failed(.tooManyAttempts, 2, limit: .passwordFailuresPerAccount), failed(.invalidLoginCredentials, 4),
    ]
  },
  Row("overloaded", .serviceOverloaded) { $0.failures = [failed(.overloaded)] },
  Row("denied by a hook", .deniedByHook) { $0.failures = [failed(.deniedByHook, 2), failed(.overloaded, 4)] },
  Row("hook without an answer", .hookUnavailable) { $0.failures = [failed(.hookUnavailable)] },
  Row("hook that denied before the last sign-in", .nothingFound) { $0.failures = [failed(.deniedByHook, 31)] },
  Row("no account, because a hook denies it", .deniedByHook, of: nil) { $0.failures = [failed(.deniedByHook)] },
  Row("no account, because a hook does not answer", .hookUnavailable, of: nil) {
    $0.failures = [failed(.hookUnavailable, 1), failed(.invalidLoginCredentials)]
  },
  Row("failure before the last sign-in", .nothingFound) { $0.failures = [failed(.invalidLoginCredentials, 31)] },
  Row("mail with an error", .messageNotDelivered) { $0.messages = [message(error: "451 try later")] },
  Row("mail that waits too long", .messageNotDelivered) { $0.messages = [message(3)] },
  Row("mail that was queued just now", .nothingFound) { $0.messages = [message(1)] },
  Row("mail given up", .messageNotDelivered) { $0.messages = [message(buried: "refused: 550")] },
  Row("mail sent", .nothingFound) { $0.messages = [message(sent: true)] },
  Row("mail after a wrong password", .messageNotDelivered) {
    ($0.messages, $0.failures) = ([message(3, error: "451")], [failed(.invalidLoginCredentials, 5)])
  },
  Row("wrong password after a mail", .wrongPassword) {
    ($0.messages, $0.failures) = ([message(6, error: "451")], [failed(.invalidLoginCredentials, 5)])
  },
  Row("conflict", .conflictOpen) { $0.pendings = [pending(.link)] },
  Row("conflict of a credential in use", .conflictOpen) { $0.pendings = [pending(.credentialInUse)] },
  Row("conflict that has expired", .nothingFound) { $0.pendings = [pending(.link, 20)] },
  Row("a code that waits is no conflict", .nothingFound) { $0.pendings = [pending(.resetPassword)] },
  Row("session revoked", .sessionsEnded) { $0.sessions = [session(closed: .revoked)] },
  Row("refresh of a revoked session", .sessionsEnded) { $0.failures = [failed(.tokenRevoked, call: "Refresh")] },
  Row("signed out by the user", .nothingFound) { $0.sessions = [session(closed: .signedOut)] },
  Row("another session is open", .nothingFound) { $0.sessions = [session(closed: nil), session(closed: .revoked)] },
  Row("restricted session", .secondFactorNotEnrolled) {
    $0.sessions = [session(closed: .signedOut), session(closed: nil, of: "console"), session(closed: nil)]
  },
  Row("restricted session, and a wrong password", .wrongPassword) {
    ($0.sessions, $0.failures) = ([session(closed: nil, of: "console")], [failed(.invalidLoginCredentials, 5)])
  },
  Row("older restricted session", .nothingFound) {
    $0.sessions = [session(closed: nil), session(closed: nil, of: "console")]
  },
  Row("custom tokens cut off", .sessionsEnded, of: account(.verified(ada), password: true) {
    ($0.lastSignInAt, $0.tokensValidAfter) = (ago(30), ago(5))
  }) { $0.failures = [failed(.invalidCustomToken, 4, method: "custom")] },
  Row("cut-off without any sign-in", .nothingFound, of: account(.verified(ada), password: true) {
    $0.tokensValidAfter = ago(5)
  }) { _ in },
]

struct `Why a user cannot sign in` {
  @Test(arguments: rows)
  private func `each row of facts leads to its cause`(row: Row) {
    var policy = Policy()
    policy.enabledProviderIDs = ["google.com"]
    policy.secondFactorRules = [
      SecondFactorRule(callers: [CallerName("console")], claims: nil, since: ago(60), graceMillis: 60_000)
    ]
    let diagnosis = Diagnosis.decide(row.facts, policy)
    #expect(diagnosis.cause == row.cause)
    #expect(diagnosis.summary.hasSuffix(".") && diagnosis.advice.hasSuffix("."))
  }

  @Test func `every cause is the result of a row`() {
    #expect(Set(rows.map(\.cause)) == Set(SignInCause.allCases))
  }

  @Test func `the summary states what an administrator must know`() throws {
    let policy = World().policy
    func summary(_ name: String) throws -> String {
      Diagnosis.decide(try #require(rows.first { $0.name == name }).facts, policy).summary
    }
    #expect(try summary("wrong password") == "The password was wrong in 3 attempts, the last one at \(shown(ago(2))).")
    #expect(try summary("disabled, whatever else") == "The account was disabled at \(shown(ago(9))) by support.")
    #expect(try summary("merged") == "The account was merged into account account-z at \(shown(ago(9))).")
    #expect(try summary("mail given up") == "The last message (reset_password) was not delivered: refused: 550.")
    #expect(try summary("block in force").contains("password_failures_per_account"))
  }
}
