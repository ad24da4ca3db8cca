import Store

/// A completely verified credential, as far as it identifies the user.
enum ReauthenticationProof: Hashable, Sendable {
  case assertion(Assertion)
  /// The password of the caller's own account matched. `setAt` is the time at which it was set.
  case password(setAt: Timestamp?, upgradedHash: String?)
  case customToken(CustomToken)
}

/// Decision about a reauthentication (section 6).
///
/// Accepts only a sign-in method that the caller's own account already has. Looks at no other account.
enum ReauthenticateDecision: Hashable, Sendable {
  case refuse(Failure)
  case secondFactorRequired
  case session(AccountEdit)

  static let mismatch = mismatch(field: "credential")
  static func mismatch(field: String) -> Failure {
    Failure(.userMismatch, field: field, hint: "Use a credential of this account.")
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
      if assertion.passkey != nil { edit.refresh(assertion, factorPassed: factorPassed) }
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
