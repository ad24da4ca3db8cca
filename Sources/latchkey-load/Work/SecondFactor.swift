internal import Reactor

/// An iteration that enrols an authenticator app, signs in with it, and withdraws it to restore the initial state.
struct SecondFactor: Work {
  private enum Stage { case signingIn, enrolling, proving, returning, choosing, showing, withdrawing }

  let user: LoadUser
  private var stage = Stage.signingIn
  private var passwords: OneTimePassword?
  private var factorID = ""
  private var pendingToken = ""

  init(_ user: LoadUser) { self.user = user }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return user.hasRecentLogin(atNanos: nowNanos) ? enrol() : .call(.signIn(user.credential))
    case (.signingIn, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.signedIn(session, atNanos: nowNanos)
      return enrol()
    case (.enrolling, .enrolling(let id, let secret)?): return prove(id, secret)
    case (.proving, .enrolled(let session, let recoveryCodes)?): return comeBack(session, recoveryCodes)
    case (.returning, .secondFactorRequired(let pendingToken, let factors)?): return choose(pendingToken, factors)
    case (.returning, .session?): return .wrong("the sign-in did not require the second factor")
    case (.choosing, let answer?):
      guard case .done = answer.begun(withID: false) else { return answer.begun(withID: false) }
      stage = .showing
      return .call(.finishSecondFactor(pendingToken: pendingToken, factorID: factorID, code: nextCode()))
    case (.showing, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.signedIn(session, atNanos: nowNanos)
      stage = .withdrawing
      return .call(.withdraw(idToken: session.idToken, factorID: factorID))
    case (.withdrawing, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.session = session
      return session.account.factors.isEmpty ? .done : .wrong("the account still has the withdrawn factor")
    case (_, let answer?): return answer.surprise
    }
  }

  private mutating func enrol() -> Step {
    stage = .enrolling
    return .call(.startEnrollment(idToken: user.session?.idToken ?? ""))
  }

  private mutating func prove(_ enrollmentID: String, _ secret: String) -> Step {
    guard !enrollmentID.isEmpty, let passwords = OneTimePassword(secret: secret) else {
      return .wrong("the enrolment has no ID or no secret")
    }
    self.passwords = passwords
    stage = .proving
    let idToken = user.session?.idToken ?? ""
    return .call(.finishEnrollment(idToken: idToken, enrollmentID: enrollmentID, code: nextCode()))
  }

  private mutating func comeBack(_ session: SessionFacts, _ recoveryCodes: Int) -> Step {
    if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
    guard recoveryCodes > 0 else { return .wrong("the first factor has no recovery codes") }
    guard let factor = session.account.factors.first(where: { $0.kind == "TOTP" }) else {
      return .wrong("the account lacks the enrolled factor")
    }
    factorID = factor.id
    stage = .returning
    return .call(.signIn(user.credential))
  }

  private mutating func choose(_ pendingToken: String, _ factors: [FactorFacts]) -> Step {
    guard factors.contains(FactorFacts(id: factorID, kind: "TOTP")) else { return .wrong("the factor is not offered") }
    guard !pendingToken.isEmpty else { return .wrong("the second factor has no pending token") }
    self.pendingToken = pendingToken
    stage = .choosing
    return .call(.startSecondFactor(pendingToken: pendingToken, factorID: factorID))
  }

  private mutating func nextCode() -> String { passwords?.next(atMillis: wallMillis()) ?? "" }
}
