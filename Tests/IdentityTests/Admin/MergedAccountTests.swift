import Store
import Testing

@testable import Identity

struct `A call of an administrator about an account that was merged` {
  let world = World.sending()
  private let app = LinkCaller(name: CallerName("spiffe://test/app"), redirectURIs: [page])

  init() {
    world.store.edit {
      $0.closedAccounts["account-y"] = ClosedAccountRecord(
        id: "account-y", survivorID: "account-z", closedAt: beginning)
    }
  }

  @Test func `it names the survivor, whatever the call changes`() async throws {
    let environment = world.environment
    var revision = AccountRevision()
    revision.displayName = "New"
    let rename = EditAccountRequest(accountID: "account-y", revision: revision)
    let secret = EditAccountRequest(accountID: "account-y", newPassword: "battery staple")
    let link = CreateEmailLinkRequest(
      mode: .changeEmail, email: "new@example.com", accountID: "account-y", continueURI: page)
    let failures = [
      await refused(.accountNotFound) { try await EditAccount(environment)(rename, world.call()) },
      await refused(.accountNotFound) { try await EditAccount(environment)(secret, world.call()) },
      await refused(.accountNotFound) {
        try await SetSecondFactors(environment)(accountID: "account-y", [], world.call())
      },
      await refused(.accountNotFound) { try await CreateEmailLink(environment)(link, for: app, world.call()) },
      await refused(.accountNotFound) {
        try await ExportAccount(environment, accountID: "account-y", world.call()).next(after: .init()).text
      },
    ]
    #expect(failures.map { $0?.metadata["merged_into"] } == Array(repeating: "account-z", count: failures.count))
    #expect(failures[3]?.field == "account_id")
  }
}
