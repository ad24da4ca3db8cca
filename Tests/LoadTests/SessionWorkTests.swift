import Testing

@testable import latchkey_load

private func verdict(_ active: Bool) -> Answer { .verdict(active: active, accountID: "id", reason: "") }

private func account(disabled: Bool = false, id: String = "id") -> Answer {
  .account(AccountFacts(id: id, email: "", isAnonymous: true, providerIDs: [], isDisabled: disabled))
}

@Test(arguments: [
  (EndSession.Way.signOut, Method.signOut, Answer.done), (.revokeAll, .revokeAll, .closed(sessions: 1)),
  (.revokeSessions, .revokeSessions, .closed(sessions: 1)), (.deleteAccount, .deleteAccount, .done),
])
func `a session that was ended must be over`(way: EndSession.Way, method: Method, ended: Answer) {
  let (calls, end) = play(EndSession(by: way), [session(isNew: true), ended, verdict(false)])
  #expect(calls == [.signIn, method, .verifyIDToken] && end == "done")
  #expect(play(EndSession(by: way), [session(), ended, verdict(true)]).end.contains("still open"))
  expectWrong(
    EndSession(by: way),
    [[.done], [session(), .closed(sessions: 2)], [session(), .closed(sessions: 0)], [session(), account()]])
}

@Test func `an account that was shut is opened again`() {
  let shut = [session(), account(disabled: true), verdict(false)]
  let (calls, end) = play(EndSession(by: .disable), shut + [account()])
  #expect(calls == [.signIn, .setDisabled, .verifyIDToken, .setDisabled] && end == "done")
  expectWrong(
    EndSession(by: .disable),
    [
      [session(), account()], [session(), account(disabled: true, id: "other")],
      [session(), account(disabled: true), verdict(true)], shut + [account(disabled: true)],
      shut + [account(id: "other")],
    ])
}

@Test func `a merge closes the other account, and signs in first where the login is too old`() {
  let guest = session("guest", isNew: true)
  let merged = Answer.merged(facts(), closedAccountID: "guest")
  let user = user()
  let (calls, end) = play(Merge(user), [session(), guest, merged, verdict(false)], atNanos: 5)
  #expect(calls == [.signIn, .signIn, .merge, .verifyIDToken] && end == "done")
  #expect(user.signedInNanos == 5)
  #expect(play(Merge(user), [guest, merged, verdict(false)]).calls == [.signIn, .merge, .verifyIDToken])
  expectWrong(
    Merge(user),
    [
      [guest, merged, verdict(true)], [guest, .merged(nil, closedAccountID: "")],
      [guest, .merged(facts(), closedAccountID: "id")], [guest, .merged(facts("other"), closedAccountID: "guest")],
      [guest, session()],
    ])
}

@Test func `a change of address is asked for in a recent session`() {
  let work = SendEmailChange(user: user(), newEmail: "b@example.com", continueURI: "")
  let sent = Answer.begun(verificationID: "", expiresAtMillis: .max)
  #expect(play(work, [session(), sent]) == ([.signIn, .sendEmailChange], "done"))
  #expect(play(work, [sent]) == ([.sendEmailChange], "done"))
  expectWrong(work, [[session("other")], [.done], [.begun(verificationID: "", expiresAtMillis: 1_000)]])
}

@Test func `what an account is to have from then on is looked at`() {
  let user = user()
  user.session = facts()
  var named = facts()
  named.account.displayName = "N"
  #expect(play(SingleCall.update(user, displayName: "N"), [.session(named)]).end == "done")
  expectWrong(SingleCall.update(user, displayName: "M"), [[.session(named)], [session("other")], [.done]])
  var account = facts().account
  account.claimsJSON = #"{"load": "7"}"#
  #expect(play(SingleCall.setCustomClaims(user, mark: 7), [.account(account)]).end == "done")
  expectWrong(SingleCall.setCustomClaims(user, mark: 8), [[.account(account)], [.done]])
  account.id = "other"
  expectWrong(SingleCall.setCustomClaims(user, mark: 7), [[.account(account)]])
}

@Test func `the session that asks is the one that is current`() {
  let user = user()
  user.session = facts()
  let (own, other) = (ListedSession(id: "s", isCurrent: true), ListedSession(id: "t", isCurrent: false))
  #expect(play(SingleCall.listSessions(user), [.sessions([other, own])]).end == "done")
  expectWrong(
    SingleCall.listSessions(user),
    [
      [.sessions([])], [.sessions([other])], [.sessions([own, own])],
      [.sessions([ListedSession(id: "t", isCurrent: true)])],
    ])
}
