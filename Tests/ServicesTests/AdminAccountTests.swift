import API
import Callers
import GRPC
import Identity
import Protobuf
import Store
import Testing

@testable import Services

private func served(_ path: String, _ world: World = World()) throws -> Method {
  try method("/latchkey.v1.AdminService/" + path, of: methods(world))
}

private func ofAda(_ edit: (inout AccountState) -> Void = { _ in }) -> World {
  var facts = Facts()
  var state = ada()
  edit(&state)
  facts.account = state
  return World(facts: facts)
}

/// The failure of a call that may also be answered.
private func rejection<R>(_ body: () throws -> R) -> Failure? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? Failure
  }
}

@Test func `an administrator creates an account with every field`() async throws {
  let request = API.CreateAccountRequest(
    accountID: "user-17", email: "Bob@Example.COM", emailVerified: true, phoneNumber: "+15550111",
    displayName: "Bob", photoURL: "https://b.example/b.png", disabled: true)
  let account = try #require(
    try await answer(try served("CreateAccount"), request, as: CreateAccountResponse.self).account)
  #expect(account.accountID == "user-17" && account.email == "bob@example.com" && account.emailVerified)
  #expect(account.phoneNumber == "+15550111" && account.displayName == "Bob" && account.disabled)
  let unverifiable = API.CreateAccountRequest(emailVerified: true)
  #expect(failure { try begin(try served("CreateAccount"), unverifiable) }?.field == "email_verified")
}

@Test func `an administrator changes only what the mask lists`() async throws {
  let world = ofAda()
  let request = API.UpdateAccountRequest(
    accountID: "account-ada", account: Account(displayName: "New", disabled: true),
    updateMask: FieldMask(paths: ["display_name"]))
  let account = try await answer(try served("UpdateAccount", world), request, as: UpdateAccountResponse.self).account
  #expect(account?.displayName == "New" && account?.disabled == false && account?.email == ada().account.email)
}

@Test(arguments: [
  (["nonsense"], ""), (["account_id"], ""), ([], ""), ([], "battery staple"), (["display_name"], "battery staple"),
])
func `a mask that does not say what to change is rejected`(paths: [String], password: String) throws {
  let request = API.UpdateAccountRequest(
    accountID: "account-ada", updateMask: FieldMask(paths: paths), password: password)
  #expect(failure { try begin(try served("UpdateAccount"), request) }?.field == "update_mask")
}

@Test func `an identity is linked, and the service's own methods are not identities`() async throws {
  let linked = try await answer(
    try served("LinkIdentity", ofAda()),
    LinkIdentityRequest(accountID: "account-ada", providerID: "oidc.corp", subject: "7"), as: LinkIdentityResponse.self)
  #expect(!linked.alreadyLinked && linked.account?.providers.contains { $0.providerID == "oidc.corp" } == true)
  for name in ["password", "phone", "emailLink", "anonymous", "custom", "passkey"] {
    let request = LinkIdentityRequest(accountID: "account-ada", providerID: name, subject: "7")
    #expect(failure { try begin(try served("LinkIdentity"), request) }?.field == "provider_id")
  }
}

@Test(arguments: [(15, false), (16, true), (64, true), (65, false)])
func `a secret of an authenticator app has 16 to 64 bytes`(count: Int, isTaken: Bool) throws {
  let setting = SecondFactorSetting(secret: .totpSecret([UInt8](repeating: 1, count: count)))
  let request = SetSecondFactorsRequest(accountID: "account-ada", factors: [setting])
  let field = rejection { try begin(try served("SetSecondFactors"), request) }?.field
  #expect(field == (isTaken ? nil : "factors.totp_secret"))
}

@Test func `a link needs its own right`() throws {
  let request = API.CreateEmailLinkRequest(
    mode: .resetPassword, email: "a@example.com", continueURI: "https://app.example/")
  #expect(failure { try begin(try served("CreateEmailLink"), request) }?.reason == .callerNotAllowed)
}

@Test(arguments: [(0, false), (1, true), (1_000, true), (1_001, false)])
func `a batch has 1 to 1,000 ids`(count: Int, isTaken: Bool) throws {
  let ids = (0..<count).map { "account-\($0)" }
  let deletion = rejection { try begin(try served("DeleteAccounts"), DeleteAccountsRequest(accountIDs: ids)) }
  let sanction = rejection { try begin(try served("SetAccountsDisabled"), SetAccountsDisabledRequest(accountIDs: ids)) }
  #expect(deletion?.field == (isTaken ? nil : "account_ids") && sanction?.field == deletion?.field)
  let rows = ids.map { TransferRow(subject: $0, transferSubject: $0) }
  let transfer = rejection { try begin(try served("SetTransferSubjects"), SetTransferSubjectsRequest(rows: rows)) }
  #expect(transfer?.field == (isTaken ? nil : "rows"))
}

@Test func `SetTransferSubjects reports each rejected row`() async throws {
  let rows = [TransferRow(subject: "a", transferSubject: "t"), TransferRow(subject: "b", transferSubject: "u")]
  let response = try await answer(
    try served("SetTransferSubjects"), SetTransferSubjectsRequest(rows: rows), as: SetTransferSubjectsResponse.self)
  #expect(response.changed == 0 && response.errors.map(\.row) == [0, 1] && response.errors.map(\.subject) == ["a", "b"])
  #expect(response.errors.allSatisfy { $0.reason == .accountNotFound && !$0.message.isEmpty })
}

@Test func `a batch reports each rejected row`() async throws {
  let response = try await answer(
    try served("DeleteAccounts"), DeleteAccountsRequest(accountIDs: ["a", "b"]), as: DeleteAccountsResponse.self)
  #expect(response.deleted == 0 && response.errors.map(\.row) == [0, 1])
  #expect(response.errors.map(\.accountID) == ["a", "b"])
  #expect(response.errors.allSatisfy { $0.reason == .accountNotFound && !$0.message.isEmpty })
}

@Test func `a malformed id rejects its own row of a batch, and the others are carried out`() async throws {
  let ids = ["account-ada", "", String(repeating: "x", count: 128), String(repeating: "x", count: 129)]
  let world = ofAda()
  let deletion = try await answer(
    try served("DeleteAccounts", world), DeleteAccountsRequest(accountIDs: ids), as: DeleteAccountsResponse.self)
  // The fake store has Ada's account under every id.
  #expect(deletion.deleted == 2 && deletion.errors.map(\.row) == [1, 3])
  #expect(deletion.errors.map(\.accountID) == [ids[1], ids[3]])
  #expect(deletion.errors.allSatisfy { $0.reason == .invalidField && !$0.message.isEmpty })
  let sanction = try await answer(
    try served("SetAccountsDisabled", world), SetAccountsDisabledRequest(accountIDs: ids, disabled: true),
    as: SetAccountsDisabledResponse.self)
  #expect(sanction.changed == 2 && sanction.unchanged == 0 && sanction.errors.map(\.row) == [1, 3])
}

@Test func `an id that occurs twice in a batch counts once`() async throws {
  let ids = ["account-ada", "account-ada"]
  let deletion = try await answer(
    try served("DeleteAccounts", ofAda()), DeleteAccountsRequest(accountIDs: ids), as: DeleteAccountsResponse.self)
  #expect(deletion.deleted == 1 && deletion.errors.isEmpty)
  let request = SetAccountsDisabledRequest(accountIDs: ids, disabled: false)
  let sanction = try await answer(
    try served("SetAccountsDisabled", ofAda()), request, as: SetAccountsDisabledResponse.self)
  #expect(sanction.changed == 0 && sanction.unchanged == 1)
}

@Test func `a malformed row of SetTransferSubjects is rejected alone`() async throws {
  let longest = String(repeating: "x", count: 255)
  let rows = [
    TransferRow(subject: "", transferSubject: "t"), TransferRow(subject: "a", transferSubject: ""),
    TransferRow(subject: longest + "x", transferSubject: "t"),
    TransferRow(subject: "b", transferSubject: longest + "x"),
    TransferRow(subject: longest, transferSubject: longest),
  ]
  let response = try await answer(
    try served("SetTransferSubjects"), SetTransferSubjectsRequest(rows: rows), as: SetTransferSubjectsResponse.self)
  #expect(response.changed == 0 && response.errors.map(\.row) == [0, 1, 2, 3, 4])
  let reasons = response.errors.map(\.reason)
  #expect(reasons == [.invalidField, .invalidField, .invalidField, .invalidField, .accountNotFound])
  #expect(response.errors.map(\.subject) == rows.map(\.subject))
}

@Test(arguments: [
  ("carol@example.com", true, false, nil), ("", false, false, nil), ("", true, true, .invalidField),
  (String(repeating: "x", count: 128), true, false, nil),
  (String(repeating: "x", count: 129), true, false, .invalidField), ("Zoë", true, false, .invalidField),
  ("line\nend", true, false, .invalidField), ("carol", true, true, .invalidField),
  ("carol", false, false, .callerNotAllowed),
] as [(String, Bool, Bool, Failure.Reason?)])
func `only a caller with the right names the human for whom it acts`(
  actor: String, mayName: Bool, isRepeated: Bool, reason: Failure.Reason?
) throws {
  let settings = CallerSettings(name: "web", san: "web", methods: ["*"], mayNameActor: mayName, audiences: ["app"])
  let caller = try CallerTable([settings], unidentified: nil, paths: [])
    .identify(certificateName: "web", authorization: [], now: Timestamp(millis: 0))
  let found = rejection { try ActorShape.check(actor, isRepeated: isRepeated, of: caller) }
  #expect(found?.reason == reason && found?.field == (reason == nil ? nil : "x-latchkey-actor"))
}
