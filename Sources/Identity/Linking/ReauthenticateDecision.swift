import Store

/// A credential that was verified completely, as far as it says who the person is.
enum ReauthenticationProof: Hashable, Sendable {
  case assertion(Assertion)
  /// The password set at this moment for the caller's own account matched.
  case password(setAt: Timestamp?, upgradedHash: String?)
  case customToken(CustomToken)
}

/// Section 6: only a way in that the caller's own account has already; nobody else's account is even looked at.
enum ReauthenticateDecision: Hashable, Sendable {
  case refuse(Failure)
  case secondFactorRequired
  case session(AccountEdit)

  static let mismatch = mismatch(field: "credential")
  static func mismatch(field: String) -> Failure {
    Failure(.userMismatch, field: field, hint: "It is not one of this account's.")
  }

  static func decide(
    _ proof: ReauthenticationProof, _ caller: CallerSession, tokenSpent: Bool, factorPassed: Bool = false,
    now: Timestamp
  ) -> ReauthenticateDecision {
    let account = caller.state.account
    var edit = AccountEdit(caller.state)
    var upgradedHash: String?
    switch proof {
    case .assertion(let assertion):
      guard caller.state.proves(assertion.identity) else { return .refuse(mismatch) }
    case .password(let setAt, let upgraded):
      guard account.passwordHash != nil, account.passwordSetAt == setAt else {
        return .refuse(.wrongPassword)
      }
      upgradedHash = upgraded
    case .customToken(let token):
      guard token.accountID == account.id else { return .refuse(mismatch) }
      if let failure = token.refusal(by: account, at: now) { return .refuse(failure) }
      edit.noteCustomToken()
    }
    if tokenSpent { return .refuse(.tokenWasSpent) }
    if caller.state.hasSecondFactor, !factorPassed { return .secondFactorRequired }
    edit.noteSignIn(at: now, upgradedHash: upgradedHash)
    return .session(edit)
  }
}
