import API
import Testing

@testable import latchkey_load

/// "12345678901234567890", the key of RFC 6238, in base32.
private let secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

// RFC 6238, appendix B. An authenticator app shows the last six digits.
@Test(arguments: [
  (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
  (2_000_000_000, "279037"), (20_000_000_000, "353130"),
])
func `one-time passwords match the vectors of the standard`(seconds: Int64, code: String) throws {
  let passwords = try #require(OneTimePassword(secret: secret))
  #expect(passwords.code(step: seconds / 30) == code)
}

@Test func `the code of each step is used once`() throws {
  var passwords = try #require(OneTimePassword(secret: secret))
  let steps = (1...5).map { passwords.code(step: $0) }
  #expect(passwords.next(atMillis: 59_999) == steps[0])
  #expect(passwords.next(atMillis: 59_999) == steps[1])
  #expect(passwords.next(atMillis: 60_000) == steps[2])
  #expect(passwords.next(atMillis: 150_000) == steps[4])
  #expect(OneTimePassword(secret: "") == nil && OneTimePassword(secret: "1") == nil)
}

private let factor = SecondFactorHint(factorID: "f", kind: .totp)

private func enrolled(
  _ id: String = "id", _ factors: [SecondFactorHint]? = nil, recoveryCodes: [String] = ["r"]
) -> FinishEnrollmentResponse {
  var enrolled = session(id)
  enrolled.account?.secondFactors = factors ?? [SecondFactorHint(factorID: "r", kind: .recoveryCode), factor]
  return FinishEnrollmentResponse(session: enrolled, recoveryCodes: recoveryCodes)
}

private func required(_ pendingToken: String, _ factors: [SecondFactorHint]) -> SignInResponse {
  SignInResponse(outcome: .secondFactorRequired(SecondFactorRequired(pendingToken: pendingToken, hints: factors)))
}

private func shown(_ session: Session) -> FinishSecondFactorResponse {
  FinishSecondFactorResponse(outcome: .session(session))
}

/// The answers of a successful iteration, from a recent login on.
private var right: [Any] {
  [
    StartEnrollmentResponse(enrollmentID: "e", totpSecret: secret), enrolled(), required("p", [factor]),
    StartSecondFactorResponse(expiresAtMillis: .max), shown(session()), WithdrawResponse(session: session()),
  ]
}

@Test func `a second factor is enrolled, required, shown and withdrawn`() throws {
  let user = user()
  let service = "SecondFactorService/"
  let calls = [
    service + "StartEnrollment", service + "FinishEnrollment", "AuthService/SignIn", service + "StartSecondFactor",
    service + "FinishSecondFactor", service + "Withdraw",
  ]
  #expect(
    play(.secondFactor(user, atNanos: 4), [signedIn()] + right, atNanos: 5) == (["AuthService/SignIn"] + calls, "done"))
  #expect(play(.secondFactor(user, atNanos: 6), right, atNanos: 6) == (calls, "done"))
  #expect(user.signedInNanos == 6)
  let requests = requests(.secondFactor(user, atNanos: 6), right)
  let first = try #require(requests[1] as? FinishEnrollmentRequest)
  let second = try #require(requests[4] as? FinishSecondFactorRequest)
  #expect(first.enrollmentID == "e" && second.pendingToken == "p" && second.factorID == "f")
  #expect(first.code.count == 6 && second.code.count == 6 && first.code != second.code)
  #expect(requests[5] as? WithdrawRequest == WithdrawRequest(idToken: "i", factorID: "f"))
}

@Test func `each step of a second factor is checked`() {
  let user = userInSession()
  var withFactor = session()
  withFactor.account?.secondFactors = [factor]
  let wrong: [[Any]] = [
    [StartEnrollmentResponse(totpSecret: secret), StartEnrollmentResponse(enrollmentID: "e", totpSecret: "0"),
      StartEnrollmentResponse(enrollmentID: "e")],
    [enrolled("id", []), enrolled("other"), enrolled(recoveryCodes: []), FinishEnrollmentResponse()],
    [signedIn(), required("p", []), required("", [factor]), SignInResponse(),
      required("p", [SecondFactorHint(factorID: "f", kind: .phone)])],
    [StartSecondFactorResponse(verificationID: "v", expiresAtMillis: .max),
      StartSecondFactorResponse(expiresAtMillis: 1_000), StartSecondFactorResponse()],
    [shown(session("other")), FinishSecondFactorResponse()],
    [WithdrawResponse(session: withFactor), WithdrawResponse(session: session("other")), WithdrawResponse()],
  ]
  for (step, answers) in wrong.enumerated() {
    expectWrong(.secondFactor(user, atNanos: 1), answers.map { right.prefix(step) + [$0] })
  }
}

@Test func `a user with a verified email address is imported and signs in`() {
  let user = user()
  let (imported, made) = (ImportAccountsResponse(imported: 1), CreateCustomTokenResponse(customToken: "t"))
  let (calls, end) = play(.makeVerified(user), [imported, made, signedIn()], atNanos: 7)
  #expect(calls == ["AdminService/ImportAccounts", "AdminService/CreateCustomToken", "AuthService/SignIn"])
  #expect(end == "done" && user.signedInNanos == 7)
  #expect([user.sessionID, user.idToken, user.refreshToken] == ["s", "i", "r"])
  #expect(user.credential == .customToken("t"), "the account is opened again by its custom token")
  let refused = ImportAccountsResponse(errors: [ImportError(reason: .invalidEmail)])
  expectWrong(
    .makeVerified(user),
    [[refused], [imported, CreateCustomTokenResponse()], [imported, made, signedIn("other")]])
}

@Test func `an account gets a custom token once it is made`() {
  let user = LoadUser(login: login)
  let created = CreateResponse(outcome: .session(session(isNew: true)))
  let made = CreateCustomTokenResponse(customToken: "t")
  let calls = ["AccountService/Create", "AdminService/CreateCustomToken"]
  #expect(play(.makeCustomToken(user), [created, made]) == (calls, "done"))
  #expect(user.credential == .customToken("t"))
  expectWrong(.makeCustomToken(user), [[SignInResponse()], [signedIn(), CreateCustomTokenResponse()]])
}
