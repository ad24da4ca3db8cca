import Testing

@testable import latchkey_load

/// "12345678901234567890", the key of RFC 6238, in base32.
private let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

// RFC 6238, appendix B. An authenticator app shows the last six digits.
@Test(arguments: [
  (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
  (2_000_000_000, "279037"), (20_000_000_000, "353130"),
])
func `one-time passwords are those of the standard`(seconds: Int64, code: String) throws {
  let passwords = try #require(OneTimePassword(secret: secret))
  #expect(passwords.code(step: seconds / 30) == code)
}

@Test func `each step's code is given once`() throws {
  var passwords = try #require(OneTimePassword(secret: secret))
  let steps = (1...5).map { passwords.code(step: $0) }
  #expect(passwords.next(atMillis: 59_999) == steps[0])
  #expect(passwords.next(atMillis: 59_999) == steps[1])
  #expect(passwords.next(atMillis: 60_000) == steps[2])
  #expect(passwords.next(atMillis: 150_000) == steps[4])
  #expect(OneTimePassword(secret: "") == nil && OneTimePassword(secret: "1") == nil)
}

private let factor = FactorFacts(id: "f", kind: "TOTP")

/// The answers of a successful iteration, from a recent login on.
private func right() -> [Answer] {
  var enrolled = facts()
  enrolled.account.factors = [FactorFacts(id: "r", kind: "RECOVERY_CODE"), factor]
  return [
    .enrolling(id: "e", secret: secret), .enrolled(enrolled, recoveryCodes: 10),
    .secondFactorRequired(pendingToken: "p", factors: [factor]), .begun(verificationID: "", expiresAtMillis: .max),
    .session(enrolled), session(),
  ]
}

@Test func `a second factor is enrolled, asked for, shown and withdrawn`() {
  let user = user()
  let calls: [latchkey_load.Method] = [
    .startEnrollment, .finishEnrollment, .signIn, .startSecondFactor, .finishSecondFactor, .withdraw,
  ]
  #expect(play(SecondFactor(user), [session()] + right(), atNanos: 5) == ([.signIn] + calls, "done"))
  #expect(play(SecondFactor(user), right(), atNanos: 6) == (calls, "done"))
  #expect(user.signedInNanos == 6)
}

@Test func `each step of a second factor is looked at`() {
  let user = user()
  user.session = facts()
  let right = right()
  let wrong: [[Answer]] = [
    [.enrolling(id: "", secret: secret), .enrolling(id: "e", secret: "0"), .done],
    [.enrolled(facts(), recoveryCodes: 10), .enrolled(facts("other"), recoveryCodes: 10), session()],
    [session(), .secondFactorRequired(pendingToken: "p", factors: []),
      .secondFactorRequired(pendingToken: "", factors: [factor])],
    [.begun(verificationID: "v", expiresAtMillis: .max), .begun(verificationID: "", expiresAtMillis: 1_000), .done],
    [session("other"), .done],
    [right[4], session("other"), .done],
  ]
  for (step, answers) in wrong.enumerated() {
    expectWrong(SecondFactor(user), answers.map { right.prefix(step) + [$0] })
  }
  guard case .enrolled(let enrolled, _) = right[1] else {
    Issue.record("the second answer is not one of an enrolment")
    return
  }
  expectWrong(SecondFactor(user), [[right[0], .enrolled(enrolled, recoveryCodes: 0)]])
}

@Test func `somebody with a proved address is taken over and opened`() {
  let user = user()
  let imported = Answer.imported(ImportFacts(imported: 1, unchanged: 0, reasons: []))
  let (calls, end) = play(MakeVerified(user: user), [imported, .customToken("t"), session()])
  #expect(calls == [.importAccounts, .createCustomToken, .signIn] && end == "done")
  #expect(user.session == facts())
  guard case .customToken("t") = user.credential else {
    Issue.record("the account is opened again by its custom token")
    return
  }
  let refused = Answer.imported(ImportFacts(imported: 0, unchanged: 0, reasons: ["INVALID_EMAIL"]))
  expectWrong(
    MakeVerified(user: user),
    [[refused], [imported, .customToken("")], [imported, .customToken("t"), session("other")]])
}
