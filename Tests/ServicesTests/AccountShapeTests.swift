import Callers
import Identity
import Testing
import API

@testable import Services

extension Shape {
  fileprivate static func update(_ request: UpdateRequest) throws -> Identity.UpdateAccountRequest {
    try update(request, Policy())
  }
}

@Test(arguments: [
  ["email_verified"], ["display_name", "disabled"], ["phone_number"], ["account.email"], ["*"], [""],
  ["custom_claims_json"], ["Email"],
])
func `check 109: a path that a user may not change is rejected, together with any other change`(_ paths: [String]) {
  let request = UpdateRequest(
    idToken: "t", account: Account(email: "a@example.com", emailVerified: true), updateMask: FieldMask(paths: paths))
  let failure = #expect(throws: Failure.self) { try Shape.update(request) }
  #expect(failure?.reason == .invalidField && failure?.field == "update_mask")
}

@Test func `an update contains only the fields of the mask, and a password if present`() throws {
  let account = Account(
    email: "B@Example.com", emailVerified: true, displayName: "Bea", photoURL: "https://x/b.png", disabled: true)
  let one = UpdateRequest(idToken: "t", account: account, updateMask: FieldMask(paths: ["display_name"]))
  #expect(try Shape.update(one) == Identity.UpdateAccountRequest(idToken: "t", displayName: "Bea"))
  let every = UpdateRequest(
    idToken: "t", account: account, updateMask: FieldMask(paths: ["email", "photo_url", "email"]),
    newPassword: "a long secret")
  #expect(try Shape.update(every) == Identity.UpdateAccountRequest(
    idToken: "t", photoURL: "https://x/b.png", email: "b@example.com", newPassword: "a long secret"))
  let emptied = UpdateRequest(idToken: "t", updateMask: FieldMask(paths: ["display_name"]))
  #expect(try Shape.update(emptied) == Identity.UpdateAccountRequest(idToken: "t", displayName: ""))
}

@Test func `an update without a field, or with an invalid address, is rejected`() {
  let unmasked = UpdateRequest(idToken: "t", account: Account(email: "a@b.example"))
  #expect(throws: Failure.self) { try Shape.update(unmasked) }
  let failure = #expect(throws: Failure.self) {
    try Shape.update(UpdateRequest(idToken: "t", updateMask: FieldMask(paths: ["email"])))
  }
  #expect(failure?.reason == .invalidEmail && failure?.field == "account.email")
}

@Test func `a page for the revert link is not a change of its own, and has its language`() throws {
  func update(_ password: String, _ page: String, _ locale: String) throws -> MailOrder? {
    try Shape.update(UpdateRequest(idToken: "t", newPassword: password, continueURI: page, locale: locale)).mail
  }
  let page = "https://a.example/"
  #expect(try update("a long secret", page, "de") == MailOrder(continueURI: page, locale: "de"))
  #expect(try update("a long secret", "", "de") == nil)
  #expect(failure { try update("", page, "") }?.field == "update_mask")
  #expect(try update("a long secret", page, "de_CH") == MailOrder(continueURI: page, locale: "de-CH"))
}

@Test func `a merge resolves sixty-four conflicts at most`() throws {
  let keep = API.MergeKeep(field: "phone", fromAccountID: "a")
  func request(_ count: Int) -> API.MergeRequest {
    API.MergeRequest(survivorIDToken: "s", otherIDToken: "o", keep: Array(repeating: keep, count: count))
  }
  #expect(try Shape.merge(request(64)).keep.count == 64)
  let failure = #expect(throws: Failure.self) { try Shape.merge(request(65)) }
  #expect(failure?.field == "keep")
}

@Test func `the answer of a merge has conflicts, the moved methods, and a session if it was done`() {
  var answer = MergeAnswer()
  answer.conflicts = [Identity.MergeConflict(field: "phone", survivorValue: "+1", otherValue: "+2")]
  answer.movedProviderIDs = ["google.com"]
  answer.closedAccountID = "z"
  #expect(MergeResponse(answer) == MergeResponse(
    conflicts: [API.MergeConflict(field: "phone", survivorValue: "+1", otherValue: "+2")],
    movedProviderIDs: ["google.com"], closedAccountID: "z"))
}

@Test func `a caller without the right may not merge`() async throws {
  let merge = try method("/latchkey.v1.AccountService/Merge", of: methods())
  let request = API.MergeRequest(survivorIDToken: "s", otherIDToken: "o")
  let failure = await #expect(throws: Failure.self) {
    _ = try await answer(merge, request, as: MergeResponse.self)
  }
  #expect(failure?.reason == .callerNotAllowed)
}

@Test func `an address that the relay cannot use is rejected when it is entered, with its field`() throws {
  var policy = Policy()
  for address in ["amélie@example.com", "用户@example.com"] {
    let change = UpdateRequest(
      idToken: "t", account: API.Account(email: address), updateMask: FieldMask(paths: ["email"]))
    policy.mailsUTF8Mailboxes = true
    #expect(try Shape.update(change, policy).email == address)
    #expect(try Shape.mailableEmail(address, "email", policy) == address)
    policy.mailsUTF8Mailboxes = false
    let failures = [
      failure { try Shape.update(change, policy) },
      failure { try Shape.mailableEmail(address, "account.email", policy) },
    ]
    for failure in failures { #expect(failure?.reason == .invalidEmail && failure?.field == "account.email") }
  }
  #expect(try Shape.mailableEmail("a@münchen.example", "email", policy) == "a@xn--mnchen-3ya.example")
}
