import API
import Testing

@testable import latchkey_load

private func event(_ accountID: String, type: EventType = .accountCreated) -> WatchResponse {
  WatchResponse(cursor: "c", event: Event(type: type, accountID: accountID))
}

private protocol PlayedStream {
  func isComplete(after messages: [Any]) -> Bool
}

extension StreamCall: PlayedStream {
  func isComplete(after messages: [Any]) -> Bool {
    var call = self
    for message in messages.compactMap({ $0 as? Response }) { call.take(message) }
    return call.isComplete
  }
}

/// Whether the client cancels the call after these messages.
private func isComplete(_ step: Step, _ messages: [Any]) -> Bool? {
  guard case .call(let call) = step else { return nil }
  return (call as? any PlayedStream)?.isComplete(after: messages)
}

private let (serving, notServing) = (
  HealthCheckResponse(status: .serving), HealthCheckResponse(status: .notServing)
)

@Test func `the first message of a stream is enough, and nothing after it counts`() {
  #expect(isComplete(.watchHealth, []) == false)
  #expect(isComplete(.watchHealth, [serving]) == true)
  #expect(play(.watchHealth, [[serving, notServing]]) == (["Health/Watch"], "done"))
  expectWrong(.watchHealth, [[[notServing, serving]]])
}

@Test func `an event of another account is ignored, and so is a message with only a cursor`() {
  let step = Step.first(EventRPC.watch, WatchRequest(), where: { $0.event?.accountID == "a" }) {
    $0 == event("a") ? .done : .wrong("\($0)")
  }
  let before: [Any] = [event("b"), WatchResponse(cursor: "c")]
  #expect(isComplete(step, before) == false)
  #expect(isComplete(step, before + [event("a")]) == true)
  #expect(play(step, [[event("b"), WatchResponse(cursor: "c"), event("a")]]).end == "done")
}

@Test func `the batches of a stream are added up to its end`() {
  let rows = (0..<3).map { ImportedAccount(accountID: "\($0)") }
  let batches = [ImportAccountsResponse(imported: 2), ImportAccountsResponse(imported: 1)]
  #expect(isComplete(.importAccounts(rows), batches) == false)
  #expect(play(.importAccounts(rows), [batches]).end == "done")
  expectWrong(
    .importAccounts(rows),
    [[[batches[0]]], [batches + [ImportAccountsResponse(unchanged: 1)]], [batches + batches]])
  let rejected = batches + [ImportAccountsResponse(errors: [ImportError(reason: .invalidEmail)])]
  #expect(play(.importAccounts(rows), [rejected]).end == "a row was rejected: INVALID_EMAIL")
  let whole = ExportAccountsResponse(
    accounts: ["a", "b"].map { ExportedAccount(account: Account(accountID: $0)) })
  #expect(isComplete(.exportAccounts(accountsMin: 4), [whole, whole]) == false)
  #expect(play(.exportAccounts(accountsMin: 4), [[whole, whole]]).end == "done")
  expectWrong(.exportAccounts(accountsMin: 5), [[[whole, whole]]])
}

@Test func `a stream that ended without the expected message is a wrong answer`() {
  let begun = WatchResponse(cursor: "c")
  expectWrong(.watchHealth, [[[HealthCheckResponse]()]])
  expectWrong(.watchEvents, [[[WatchResponse]()], [begun, signedIn(), [WatchResponse]()]])
  expectWrong(.importAccounts([ImportedAccount()]), [[[ImportAccountsResponse]()]])
  expectWrong(.exportAccounts(accountsMin: 1), [[[ExportAccountsResponse]()]])
}

@Test func `a watcher receives the new account after its first cursor`() {
  let begun = WatchResponse(cursor: "c")
  let calls = ["EventService/Watch", "AuthService/SignIn", "EventService/Watch"]
  #expect(play(.watchEvents, [begun, signedIn(isNew: true), event("id")]) == (calls, "done"))
  #expect(play(.watchEvents, [begun, signedIn(isNew: true), [event("other"), event("id")]]) == (calls, "done"))
  let requests = requests(.watchEvents, [begun, signedIn()]).compactMap { $0 as? WatchRequest }
  #expect(requests.map(\.cursor) == ["now", "c"] && requests.allSatisfy { $0.types == [.accountCreated] })
  expectWrong(
    .watchEvents,
    [
      [WatchResponse()], [begun, SignInResponse()], [begun, signedIn("")], [begun, signedIn(), event("other")],
      [begun, signedIn(), event("id", type: .signedIn)], [begun, signedIn(), WatchResponse(cursor: "d")],
    ])
}

@Test func `a duplicate account on two pages is a wrong answer`() {
  func page(_ ids: [String], next: String = "") -> ListResponse {
    ListResponse(accounts: ids.map { Account(accountID: $0) }, nextPageToken: next)
  }
  let (first, call) = (page(["a", "b"], next: "n"), "AdminService/List")
  #expect(play(.listAccounts, [first, page(["c"], next: "m")]) == ([call, call], "done"))
  #expect(play(.listAccounts, [page(["a"])]) == ([call], "done"))
  let tokens = requests(.listAccounts, [first]).compactMap { ($0 as? ListRequest)?.pageToken }
  #expect(tokens == ["", "n"])
  expectWrong(.listAccounts, [[page([])], [page(["a", "a"])], [page(["a", ""])], [first, page(["c", "b"])]])
}

@Test func `imported and exported accounts are counted`() {
  let rows = ["a", "b"].map { ImportedAccount(accountID: $0, email: "\($0)@example.com") }
  #expect(play(.importAccounts(rows), [ImportAccountsResponse(imported: 2)]).end == "done")
  expectWrong(
    .importAccounts(rows),
    [
      [ImportAccountsResponse(imported: 1)], [ImportAccountsResponse(imported: 2, unchanged: 1)],
      [ImportAccountsResponse(imported: 2, errors: [ImportError(reason: .invalidEmail)])],
    ])
  func export(_ ids: [String]) -> ExportAccountsResponse {
    ExportAccountsResponse(accounts: ids.map { ExportedAccount(account: Account(accountID: $0)) })
  }
  #expect(play(.exportAccounts(accountsMin: 2), [export(["a", "b"])]).end == "done")
  let unnamed = ExportAccountsResponse(accounts: [ExportedAccount(), ExportedAccount()])
  expectWrong(.exportAccounts(accountsMin: 2), [[export(["a"])], [export(["a", "b", ""])], [unnamed]])
}

@Test func `an imported user with a second factor has none once it is removed`() {
  let account = ImportedAccount(accountID: "a", email: "a@example.com", phoneFactors: [ImportedPhoneFactor()])
  let imported = ImportAccountsResponse(imported: 1)
  func removed(_ id: String = "a", factors: [SecondFactorHint] = [], count: Int32 = 1) -> RemoveSecondFactorsResponse {
    RemoveSecondFactorsResponse(account: Account(accountID: id, secondFactors: factors), removed: count)
  }
  let calls = ["AdminService/ImportAccounts", "AdminService/RemoveSecondFactors"]
  #expect(play(.removeFactors(of: account), [imported, removed()]) == (calls, "done"))
  let refused = ImportAccountsResponse(errors: [ImportError(reason: .invalidField)])
  expectWrong(
    .removeFactors(of: account),
    [
      [refused], [imported, removed(factors: [SecondFactorHint(factorID: "f", kind: .phone)])],
      [imported, removed("a", count: 0)], [imported, removed("b")], [imported, RemoveSecondFactorsResponse(removed: 1)],
    ])
}

@Test func `an imported user with one sign-in method has none once it is unlinked, and keeps the address`() {
  let google = LinkedProvider(providerID: "google.com", subject: "s")
  let account = ImportedAccount(accountID: "a", email: "a@example.com", providers: [google])
  let imported = ImportAccountsResponse(imported: 1)
  func unlinked(
    _ id: String = "a", _ email: String = "a@example.com", _ providers: [LinkedProvider] = []
  ) -> UnlinkProviderResponse {
    UnlinkProviderResponse(account: Account(accountID: id, email: email, providers: providers))
  }
  let calls = ["AdminService/ImportAccounts", "AdminService/UnlinkProvider"]
  #expect(play(.unlinkProvider(of: account), [imported, unlinked()]) == (calls, "done"))
  let request = requests(.unlinkProvider(of: account), [imported])[1] as? UnlinkProviderRequest
  #expect(request == UnlinkProviderRequest(accountID: "a", providerID: "google.com"))
  expectWrong(
    .unlinkProvider(of: account),
    [
      [ImportAccountsResponse(unchanged: 1)], [imported, unlinked("b")], [imported, unlinked("a", "")],
      [imported, unlinked("a", "a@example.com", [google])], [imported, UnlinkProviderResponse()],
    ])
}

@Test func `only a phone code has a verification id, and no code expires in the past`() {
  let texted = SendPhoneCodeResponse(verificationID: "v", expiresAtMillis: .max)
  let mailed = SendEmailCodeResponse(verificationID: "v", expiresAtMillis: .max)
  #expect(play(.sendEmailCode(""), [mailed]).end == "done")
  expectWrong(.sendEmailCode(""), [[SendEmailCodeResponse(expiresAtMillis: .max)]])
  #expect(play(.sendEmailLink("", ""), [SendEmailLinkResponse(expiresAtMillis: .max)]).end == "done")
  #expect(play(.sendPasswordReset(user(), ""), [SendPasswordResetResponse(expiresAtMillis: .max)]).end == "done")
  let verification = SendEmailVerificationResponse(expiresAtMillis: .max)
  #expect(play(.sendEmailVerification(user(), ""), [verification]).end == "done")
  #expect(play(.sendPhoneCode(""), [texted]).end == "done")
  expectWrong(.sendEmailLink("", ""), [[SendEmailLinkResponse()], [SendEmailLinkResponse(expiresAtMillis: 1_000)]])
  expectWrong(.sendPasswordReset(user(), ""), [[SendPasswordResetResponse(expiresAtMillis: 0)]])
  expectWrong(.sendEmailVerification(user(), ""), [[SendEmailVerificationResponse()]])
  expectWrong(
    .sendPhoneCode(""),
    [
      [SendPhoneCodeResponse(expiresAtMillis: .max)],
      [SendPhoneCodeResponse(verificationID: "v", expiresAtMillis: 1_000)],
    ])
}

@Test func `a code that was never sent must be rejected`() {
  func rejection(_ step: Step) -> String? {
    if case .call(let call) = step { call.rejection } else { nil }
  }
  for step in [Step.checkCode("c"), .confirmEmail("c"), .resetPassword("c")] {
    #expect(rejection(step) == "INVALID_CODE")
  }
  expectWrong(.checkCode("c"), [[CheckCodeResponse()]])
  expectWrong(.confirmEmail("c"), [[ConfirmEmailResponse()]])
  expectWrong(.resetPassword("c"), [[ResetPasswordResponse()]])
  #expect(rejection(.health) == nil)
}

@Test func `each call has its own row in the report, with a unique name`() {
  #expect(Set(CallRow.names).count == CallRow.names.count)
  #expect(CallRow.names.count == RPCPaths.all.count + 1)
  #expect(RPCPaths.all[SessionRPC.refresh.number] == SessionRPC.refresh.path)
}

@Test func `each workload has a name of its own`() {
  #expect(Set(Workload.all.map(\.name)).count == Workload.all.count)
}
