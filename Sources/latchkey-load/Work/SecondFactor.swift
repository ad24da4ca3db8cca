internal import Reactor

/// Enrols an authenticator program, shows it at a sign-in that asks for it, and withdraws it, so that it can happen
/// again.
struct SecondFactor: Work {
  private enum Stage { case signingIn, enrolling, proving, returning, choosing, showing, withdrawing }

  let person: Person
  private var stage = Stage.signingIn
  private var passwords: OneTimePassword?
  private var factorID = ""
  private var pendingToken = ""

  init(_ person: Person) { self.person = person }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return person.hasRecentLogin(atNanos: nowNanos) ? enrol() : .call(.signIn(person.credential))
    case (.signingIn, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.signedIn(session, atNanos: nowNanos)
      return enrol()
    case (.enrolling, .enrolling(let id, let secret)?): return prove(id, secret)
    case (.proving, .enrolled(let session, let recoveryCodes)?): return comeBack(session, recoveryCodes)
    case (.returning, .secondFactorRequired(let pendingToken, let factors)?): return choose(pendingToken, factors)
    case (.returning, .session?): return .wrong("a session without the second factor")
    case (.choosing, let answer?):
      guard case .done = answer.begun(withID: false) else { return answer.begun(withID: false) }
      stage = .showing
      return .call(.finishSecondFactor(pendingToken: pendingToken, factorID: factorID, code: nextCode()))
    case (.showing, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.signedIn(session, atNanos: nowNanos)
      stage = .withdrawing
      return .call(.withdraw(idToken: session.idToken, factorID: factorID))
    case (.withdrawing, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.session = session
      return session.account.factors.isEmpty ? .done : .wrong("a factor that was withdrawn")
    case (_, let answer?): return answer.surprise
    }
  }

  private mutating func enrol() -> Step {
    stage = .enrolling
    return .call(.startEnrollment(idToken: person.session?.idToken ?? ""))
  }

  private mutating func prove(_ enrollmentID: String, _ secret: String) -> Step {
    guard !enrollmentID.isEmpty, let passwords = OneTimePassword(secret: secret) else {
      return .wrong("an enrolment without id or secret")
    }
    self.passwords = passwords
    stage = .proving
    let idToken = person.session?.idToken ?? ""
    return .call(.finishEnrollment(idToken: idToken, enrollmentID: enrollmentID, code: nextCode()))
  }

  private mutating func comeBack(_ session: SessionFacts, _ recoveryCodes: Int) -> Step {
    if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
    guard recoveryCodes > 0 else { return .wrong("a first factor without recovery codes") }
    guard let factor = session.account.factors.first(where: { $0.kind == "totp" }) else {
      return .wrong("an account without the factor that was enrolled")
    }
    factorID = factor.id
    stage = .returning
    return .call(.signIn(person.credential))
  }

  private mutating func choose(_ pendingToken: String, _ factors: [FactorFacts]) -> Step {
    guard factors.contains(FactorFacts(id: factorID, kind: "totp")) else { return .wrong("the factor is not offered") }
    guard !pendingToken.isEmpty else { return .wrong("a second factor without a pending token") }
    self.pendingToken = pendingToken
    stage = .choosing
    return .call(.startSecondFactor(pendingToken: pendingToken, factorID: factorID))
  }

  private mutating func nextCode() -> String { passwords?.next(atMillis: wallMillis()) ?? "" }
}
