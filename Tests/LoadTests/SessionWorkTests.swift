import API
import Testing

@testable import latchkey_load

private func verdict(_ active: Bool) -> VerifyIdTokenResponse {
  VerifyIdTokenResponse(active: active, accountID: "id")
}

private func disabled(_ disabled: Bool, id: String = "id") -> SetDisabledResponse {
  SetDisabledResponse(account: Account(accountID: id, disabled: disabled))
}

@Test func `a session that was ended must be inactive`() {
  let ways: [(Step, String, Any, [Any])] = [
    (.signOut, "SessionService/SignOut", SignOutResponse(), []),
    (.revokeAll, "SessionService/RevokeAll", RevokeAllResponse(closed: 1),
      [RevokeAllResponse(closed: 2), RevokeAllResponse(closed: 0)]),
    (.revokeSessions, "AdminService/RevokeSessions", RevokeSessionsResponse(closed: 1),
      [RevokeSessionsResponse(closed: 2), RevokeSessionsResponse(closed: 0)]),
    (.deleteAccount, "AdminService/DeleteAccount", DeleteAccountResponse(), []),
  ]
  for (way, call, ended, wrong) in ways {
    let (calls, end) = play(way, [signedIn(isNew: true), ended, verdict(false)])
    #expect(calls == ["AuthService/SignIn", call, "SessionService/VerifyIdToken"] && end == "done")
    #expect(play(way, [signedIn(), ended, verdict(true)]).end.contains("still open"))
    expectWrong(way, [[SignInResponse()], [signedIn("")]] + wrong.map { [signedIn(), $0] })
  }
}

@Test func `an account that was disabled is enabled again`() {
  let shut: [Any] = [signedIn(), disabled(true), verdict(false)]
  let (calls, end) = play(.setDisabled, shut + [disabled(false)])
  let setDisabled = "AdminService/SetDisabled"
  #expect(calls == ["AuthService/SignIn", setDisabled, "SessionService/VerifyIdToken", setDisabled] && end == "done")
  #expect(
    requests(.setDisabled, shut + [disabled(false)]).compactMap { $0 as? SetDisabledRequest }
      == [SetDisabledRequest(accountID: "id", disabled: true), SetDisabledRequest(accountID: "id", disabled: false)])
  expectWrong(
    .setDisabled,
    [
      [signedIn(), disabled(false)], [signedIn(), disabled(true, id: "other")], [signedIn(), SetDisabledResponse()],
      [signedIn(), disabled(true), verdict(true)], shut + [disabled(true)], shut + [disabled(false, id: "other")],
    ])
}

@Test func `a merge closes the other account, and signs in first if the login is too old`() {
  func merged(_ id: String = "id", closed: String = "guest") -> MergeResponse {
    MergeResponse(session: session(id), closedAccountID: closed)
  }
  var other = session("guest", isNew: true)
  other.idToken = "g"
  let guest = SignInResponse(outcome: .session(other))
  let user = user()
  let rest = ["AuthService/SignIn", "AccountService/Merge", "SessionService/VerifyIdToken"]
  let (calls, end) = play(.merge(user, atNanos: 4), [signedIn(), guest, merged(), verdict(false)], atNanos: 5)
  #expect(calls == ["AuthService/SignIn"] + rest && end == "done")
  #expect(user.signedInNanos == 5)
  #expect(play(.merge(user, atNanos: 6), [guest, merged(), verdict(false)]) == (rest, "done"))
  let requests = requests(.merge(user, atNanos: 6), [guest, merged(), verdict(false)])
  #expect(requests[1] as? MergeRequest == MergeRequest(survivorIDToken: "i", otherIDToken: "g"))
  #expect(requests[2] as? VerifyIdTokenRequest == VerifyIdTokenRequest(idToken: "g"))
  expectWrong(
    .merge(user, atNanos: 6),
    [
      [guest, merged(), verdict(true)], [guest, MergeResponse()], [guest, merged(closed: "id")],
      [guest, merged("other")], [SignInResponse()],
    ])
}

@Test func `a change of address is requested in a recent session`() {
  let user = user()
  func step() -> Step { .sendEmailChange(user, to: "b@example.com", "", atNanos: 1) }
  let sent = SendEmailChangeResponse(expiresAtMillis: .max)
  let call = "VerificationService/SendEmailChange"
  expectWrong(step(), [[signedIn("other")]])
  #expect(play(step(), [signedIn(), sent]) == (["AuthService/SignIn", call], "done"))
  #expect(play(step(), [sent]) == ([call], "done"))
  expectWrong(step(), [[SendEmailChangeResponse()], [SendEmailChangeResponse(expiresAtMillis: 1_000)]])
}

@Test func `the changed fields of an account are checked`() {
  let user = userInSession()
  var named = session()
  named.account?.displayName = "N"
  #expect(play(.update(user, displayName: "N"), [UpdateResponse(session: named)]).end == "done")
  expectWrong(
    .update(user, displayName: "M"),
    [[UpdateResponse(session: named)], [UpdateResponse(session: session("other"))], [UpdateResponse()]])
  func claims(_ id: String) -> SetCustomClaimsResponse {
    SetCustomClaimsResponse(account: Account(accountID: id, customClaimsJSON: #"{"load": "7"}"#))
  }
  #expect(play(.setCustomClaims(user, mark: 7), [claims("id")]).end == "done")
  expectWrong(.setCustomClaims(user, mark: 8), [[claims("id")], [SetCustomClaimsResponse()]])
  expectWrong(.setCustomClaims(user, mark: 7), [[claims("other")]])
}

@Test func `the caller's session must be listed as the current one`() {
  let user = userInSession()
  let (own, other) = (SessionInfo(sessionID: "s", current: true), SessionInfo(sessionID: "t"))
  #expect(play(.listSessions(user), [ListSessionsResponse(sessions: [other, own])]).end == "done")
  let wrong = [[], [other], [own, own], [SessionInfo(sessionID: "t", current: true)]]
  expectWrong(.listSessions(user), wrong.map { [ListSessionsResponse(sessions: $0)] })
}
