import Testing

@testable import latchkey_load

private func event(_ accountID: String, type: String = "ACCOUNT_CREATED") -> Answer {
  .event(EventFacts(cursor: "c", type: type, accountID: accountID))
}

@Test func `the first message of a stream is enough, and nothing after it counts`() {
  var gathering = Gathering(.first)
  #expect(!gathering.isEnough)
  gathering.take(.serving(true))
  gathering.take(.serving(false))
  #expect(gathering.isEnough && gathering.whole == .serving(true))
}

@Test func `an event of another account is passed over, and so is a cursor alone`() {
  var gathering = Gathering(.event(accountID: "a"))
  gathering.take(event("b"))
  gathering.take(.event(EventFacts(cursor: "c")))
  #expect(!gathering.isEnough)
  gathering.take(event("a"))
  #expect(gathering.isEnough && gathering.whole == event("a"))
}

@Test func `the batches of a stream are added up to its end`() {
  var imported = Gathering(.all)
  imported.take(.imported(ImportFacts(imported: 2, unchanged: 1, reasons: [])))
  imported.take(.imported(ImportFacts(imported: 1, unchanged: 0, reasons: ["INVALID_EMAIL"])))
  #expect(!imported.isEnough)
  #expect(imported.whole == .imported(ImportFacts(imported: 3, unchanged: 1, reasons: ["INVALID_EMAIL"])))
  var exported = Gathering(.all)
  exported.take(.exported(accounts: 2, whole: 2))
  exported.take(.exported(accounts: 3, whole: 2))
  #expect(exported.whole == .exported(accounts: 5, whole: 4))
}

@Test func `a stream that ended without what was waited for is no right answer`() {
  for wish in [Gathering.Wish.first, .event(accountID: "a"), .all] {
    guard case .other = Gathering(wish).whole else {
      Issue.record("\(wish)")
      continue
    }
  }
}

@Test func `a watcher is told who is new after the cursor it began at`() {
  let begun = Answer.event(EventFacts(cursor: "c"))
  #expect(
    play(WatchEvents(), [begun, session(isNew: true), event("id")]) == ([.watchEvents, .signIn, .watchEvents], "done"))
  expectWrong(
    WatchEvents(),
    [
      [.event(EventFacts(cursor: ""))], [begun, .done], [begun, session("")], [begun, session(), event("other")],
      [begun, session(), event("id", type: "SIGNED_IN")], [begun, session(), .other("the end of the stream")],
    ])
}

@Test func `no account is on two pages`() {
  let first = Answer.page(accountIDs: ["a", "b"], nextToken: "n")
  #expect(play(ListAccounts(), [first, .page(accountIDs: ["c"], nextToken: "m")]) == ([.list, .list], "done"))
  #expect(play(ListAccounts(), [.page(accountIDs: ["a"], nextToken: "")]) == ([.list], "done"))
  expectWrong(
    ListAccounts(),
    [
      [.page(accountIDs: [], nextToken: "")], [.page(accountIDs: ["a", "a"], nextToken: "")],
      [.page(accountIDs: ["a", ""], nextToken: "")], [first, .page(accountIDs: ["c", "b"], nextToken: "")], [.done],
    ])
}

@Test func `what is taken over and what is exported is counted`() {
  let rows = [ImportRow(accountID: "a", email: "a@example.com"), ImportRow(accountID: "b", email: "b@example.com")]
  let whole = ImportFacts(imported: 2, unchanged: 0, reasons: [])
  #expect(play(SingleCall.importAccounts(rows), [.imported(whole)]).end == "done")
  for (imported, unchanged, reasons) in [(1, 0, []), (2, 1, []), (2, 0, ["INVALID_EMAIL"])] {
    let facts = ImportFacts(imported: imported, unchanged: unchanged, reasons: reasons)
    expectWrong(SingleCall.importAccounts(rows), [[.imported(facts)]])
  }
  #expect(play(SingleCall.exportAccounts(accountsMin: 2), [.exported(accounts: 2, whole: 2)]).end == "done")
  expectWrong(
    SingleCall.exportAccounts(accountsMin: 2),
    [[.exported(accounts: 1, whole: 1)], [.exported(accounts: 3, whole: 2)], [.other("the end of the stream")]])
}

@Test func `who was taken over with a second factor has none once it is removed`() {
  let work = TakeAway.factor(of: ImportRow(accountID: "a", email: "a@example.com", factorNumber: "+441632960961"))
  let imported = Answer.imported(ImportFacts(imported: 1, unchanged: 0, reasons: []))
  var account = AccountFacts(id: "a", email: "a@example.com", isAnonymous: false, providerIDs: [])
  let removed = Answer.factorsRemoved(count: 1, of: account)
  #expect(play(work, [imported, removed]) == ([.importAccounts, .removeSecondFactors], "done"))
  account.factors = [FactorFacts(id: "f", kind: "PHONE")]
  let refused = Answer.imported(ImportFacts(imported: 0, unchanged: 0, reasons: ["INVALID_FIELD"]))
  expectWrong(
    work,
    [
      [refused], [removed], [imported, imported], [imported, .factorsRemoved(count: 1, of: account)],
      [imported, .factorsRemoved(count: 0, of: AccountFacts(id: "a", email: "", isAnonymous: false, providerIDs: []))],
      [imported, .factorsRemoved(count: 1, of: AccountFacts(id: "b", email: "", isAnonymous: false, providerIDs: []))],
    ])
}

@Test func `who was taken over with one way in has none once it is unlinked, and keeps the address`() {
  let work = TakeAway.identity(of: ImportRow(accountID: "a", email: "a@example.com", subject: "s"))
  let imported = Answer.imported(ImportFacts(imported: 1, unchanged: 0, reasons: []))
  func unlinked(_ id: String = "a", _ email: String = "a@example.com", _ providerIDs: [String] = []) -> Answer {
    .account(AccountFacts(id: id, email: email, isAnonymous: false, providerIDs: providerIDs))
  }
  #expect(play(work, [imported, unlinked()]) == ([.importAccounts, .unlinkProvider], "done"))
  expectWrong(
    work,
    [
      [unlinked()], [imported, imported], [imported, unlinked("b")], [imported, unlinked("a", "")],
      [imported, unlinked("a", "a@example.com", ["google.com"])], [imported, .done],
    ])
}

@Test func `codes are begun with an id only where a telephone has them, and not in the past`() {
  let (mailed, texted) = (
    Answer.begun(verificationID: "", expiresAtMillis: .max), Answer.begun(verificationID: "v", expiresAtMillis: .max)
  )
  #expect(play(SingleCall.sendEmailLink("", ""), [mailed]).end == "done")
  #expect(play(SingleCall.sendPhoneCode(""), [texted]).end == "done")
  expectWrong(SingleCall.sendEmailLink("", ""), [[texted], [.done]])
  expectWrong(SingleCall.sendPasswordReset(user(), ""), [[texted], [.begun(verificationID: "", expiresAtMillis: 0)]])
  expectWrong(SingleCall.sendEmailVerification(user(), ""), [[texted]])
  expectWrong(SingleCall.sendPhoneCode(""), [[mailed], [.begun(verificationID: "v", expiresAtMillis: 1_000)]])
}

@Test func `a code that nobody was sent must be refused`() {
  let calls = [Call.checkCode("c"), .confirmEmail(code: "c"), .resetPassword(code: "c", newPassword: "p")]
  for call in calls {
    #expect(call.refusal == "INVALID_CODE")
    #expect(play(SingleCall.refused(call), [.refused("INVALID_CODE")]).end == "done")
    expectWrong(SingleCall.refused(call), [[.done]])
  }
  #expect(Call.health.refusal == nil)
}

@Test func `each call has a row of its own in the report, and the names are told apart`() {
  let names = latchkey_load.Method.allCases.map(\.name)
  #expect(Set(names).count == names.count)
}
