package import Store

/// A condition on custom claims, as the operator configured it.
package protocol ClaimCondition: Sendable {
  /// - Parameter json: a JSON object, or empty.
  func matches(_ json: String) -> Bool
}

/// One rule of `policy.require_second_factor`: whose sessions need a second factor, and from when on (section 11).
package struct SecondFactorRule: Sendable {
  /// Empty: the sessions of all callers.
  package var callers: Set<CallerName>
  /// nil: those of all accounts.
  package var claims: (any ClaimCondition)?
  /// Start of the grace period of accounts that exist by then.
  package var since: Timestamp
  package var graceMillis: Int64

  package init(callers: Set<CallerName>, claims: (any ClaimCondition)?, since: Timestamp, graceMillis: Int64) {
    self.callers = callers
    self.claims = claims
    self.since = since
    self.graceMillis = graceMillis
  }

  /// F1: whether the rule is about this session.
  ///
  /// Claims of the session override those of the account in tokens, so either can make a user an administrator.
  fileprivate func concerns(_ session: SessionRecord, of account: AccountRecord) -> Bool {
    guard callers.isEmpty || callers.contains(session.caller) else { return false }
    guard let claims else { return true }
    return claims.matches(account.customClaimsJSON) || claims.matches(session.claimsJSON)
  }

  fileprivate func dueAt(_ account: AccountRecord) -> Timestamp {
    max(account.createdAt, since).adding(millis: graceMillis)
  }
}

/// What the rules ask of a session.
package enum SecondFactorDuty: Hashable, Sendable {
  /// No rule is about the session, or it meets them.
  case none
  /// F5: a full session, whose user should enroll by then.
  case due(Timestamp)
  /// F6: a restricted session.
  case overdue(Timestamp)

  package var isOverdue: Bool { if case .overdue = self { true } else { false } }

  package var dueAt: Timestamp? {
    switch self {
    case .none: nil
    case .due(let due), .overdue(let due): due
    }
  }
}

extension Policy {
  /// Decides whenever tokens are created (F1 to F6). So a session becomes restricted or full at a refresh, and no
  /// change of an account, its claims or the rules needs a write.
  package func secondFactorDuty(of session: SessionRecord, _ state: AccountState, now: Timestamp) -> SecondFactorDuty {
    secondFactorRules.isEmpty ? .none : duty(of: session, state, now: now)
  }

  /// Not inlined, because few servers have rules.
  @inline(never)
  private func duty(of session: SessionRecord, _ state: AccountState, now: Timestamp) -> SecondFactorDuty {
    // F2, F3 and F4.
    if state.hasSecondFactor || session.beginning.verifiesUser || state.account.anonymous { return .none }
    let dues = secondFactorRules.filter { $0.concerns(session, of: state.account) }.map { $0.dueAt(state.account) }
    guard let due = dues.min() else { return .none }
    return now < due ? .due(due) : .overdue(due)
  }
}

/// The audience of the ID tokens of restricted sessions.
///
/// It differs from that of full sessions, so that every service that verifies tokens rejects them without a change.
package enum RestrictedAudience {
  /// No configured audience ends with it.
  package static let ending = "/second-factor-enrollment"

  static func derived(from audience: String) -> String { audience + ending }

  /// Whether the token is that of a restricted session of the caller's audience. Throws for those of other audiences.
  static func isOf(_ token: IDToken, _ call: CallFacts) throws(Failure) -> Bool {
    if call.audiences.contains(token.audience) { return false }
    guard call.audiences.contains(where: { derived(from: $0) == token.audience }) else {
      throw Failure(.invalidIDToken, debug: "token for another audience")
    }
    return true
  }
}

extension Failure {
  static let sessionIsRestricted = Failure(
    .requiresSecondFactorEnrollment, field: "id_token",
    hint: "Enroll a second factor. If the login is not recent, sign in again first.")
}
