import Store
import Testing

@testable import Identity

/// One row: a change of an account, and what it leads to.
private struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let state: AccountState
  let revision: AccountRevision
  var emailOwner: AccountState?
  var phoneOwner: AccountState?
  var events: [String] = []
  var end: SessionClosedReason?
  var unlinked: [String] = []
  var failure: Failure.Reason?

  init(
    _ name: String, _ state: AccountState, _ change: (inout AccountRevision) -> Void,
    _ expect: (inout Row) -> Void
  ) {
    testDescription = name
    self.state = state
    var revision = AccountRevision()
    change(&revision)
    self.revision = revision
    expect(&self)
  }
}

private let verified = account(.verified(ada), password: true)
private let other = account(id: "account-z", .verified("other@example.com"), phone: "+15550111")

private let rows: [Row] = [
  Row("a new address is unverified and ends all sessions", verified, { $0.email = "new@example.com" }) {
    ($0.events, $0.end) = (["EMAIL_CHANGED"], .emailChanged)
  },
  Row("a new address is verified by the administrator", verified, {
    ($0.email, $0.emailVerified) = ("new@example.com", true)
  }) { ($0.events, $0.end) = (["EMAIL_CHANGED", "EMAIL_VERIFIED"], .emailChanged) },
  Row("the same address changes nothing", verified, { ($0.email, $0.emailVerified) = (ada, true) }) { _ in },
  Row("an address of another account", verified, { $0.email = "other@example.com" }) {
    ($0.emailOwner, $0.failure) = (other, .emailAlreadyInUse)
  },
  Row("an address cannot go while there is a password", verified, { $0.email = "" }) { $0.failure = .invalidField },
  Row("an address goes with the password", verified, { ($0.email, $0.password) = ("", .clear) }) {
    ($0.events, $0.end, $0.unlinked) = (["UNLINKED", "EMAIL_CHANGED"], .emailChanged, ["password"])
  },
  Row("no address can be verified", account(phone: number), { $0.emailVerified = true }) { $0.failure = .invalidField },
  Row("an unverified address becomes verified", account(.unverified(ada), password: true), {
    $0.emailVerified = true
  }) { $0.events = ["EMAIL_VERIFIED"] },
  Row("a verified address becomes unverified", verified, { $0.emailVerified = false }) {
    $0.events = ["EMAIL_UNVERIFIED"]
  },
  Row("a password ends all sessions", verified, { $0.password = .set(hash: "hash:new") }) {
    ($0.events, $0.end) = (["PASSWORD_CHANGED"], .passwordChanged)
  },
  Row("a password needs an address", account(phone: number), { $0.password = .set(hash: "hash:new") }) {
    $0.failure = .invalidField
  },
  Row("the last password goes with all sessions", verified, { $0.password = .clear }) {
    ($0.events, $0.end, $0.unlinked) = (["UNLINKED"], .unlinked, ["password"])
  },
  Row("a password that is not the last method", account(.verified(ada), password: true, phone: number), {
    $0.password = .clear
  }) { ($0.events, $0.unlinked) = (["UNLINKED"], ["password"]) },
  Row("no password to clear", account(phone: number), { $0.password = .clear }) { _ in },
  Row("a first phone number", verified, { $0.phoneNumber = number }) { $0.events = ["LINKED"] },
  Row("a replaced phone number", account(.verified(ada), password: true, phone: number), {
    $0.phoneNumber = "+15550199"
  }) { ($0.events, $0.unlinked) = (["UNLINKED", "LINKED"], ["phone"]) },
  Row("a phone number of another account", verified, { $0.phoneNumber = "+15550111" }) {
    ($0.phoneOwner, $0.failure) = (other, .providerAlreadyLinked)
  },
  Row("a phone number next to phones as factors", account(.verified(ada), password: true, factors: [.phone]), {
    $0.phoneNumber = number
  }) { $0.failure = .unsupportedFirstFactor },
  Row("the last phone number goes with all sessions", account(phone: number), { $0.phoneNumber = "" }) {
    ($0.events, $0.end, $0.unlinked) = (["UNLINKED"], .unlinked, ["phone"])
  },
  Row("name and photo", verified, { ($0.displayName, $0.photoURL) = ("Ada", "https://a.example/a.png") }) {
    $0.events = ["PROFILE_CHANGED"]
  },
  Row("disabling", verified, { $0.disabled = true }) { ($0.events, $0.end) = (["DISABLED"], .disabled) },
  Row("enabling", account(.verified(ada), password: true, disabled: true), { $0.disabled = false }) {
    $0.events = ["ENABLED"]
  },
  Row("disabled with a new password", verified, { ($0.disabled, $0.password) = (true, .set(hash: "hash:new")) }) {
    ($0.events, $0.end) = (["PASSWORD_CHANGED", "DISABLED"], .disabled)
  },
]

@Test(arguments: rows)
private func `each change has its events and ends what relied on the former state`(_ row: Row) throws {
  let policy = World.sending().policy
  let decision = RevisionDecision.decide(
    row.revision, row.state, emailOwner: row.emailOwner, phoneOwner: row.phoneOwner, policy: policy, now: beginning)
  switch decision {
  case .refuse(let failure): #expect(failure.reason == row.failure)
  case .unchanged: #expect(row.failure == nil && row.events.isEmpty)
  case .revise(let revised):
    #expect(row.failure == nil && !row.events.isEmpty)
    #expect(revised.notes.map(\.event.rawValue) == row.events)
    #expect(revised.endOfAllSessions == row.end && revised.unlinked == row.unlinked)
    #expect((revised.edit.edited.account.tokensValidAfter == beginning) == (row.end != nil))
    let isSanction = ["DISABLED", "ENABLED"]
    #expect(revised.notes.allSatisfy { isSanction.contains($0.event.rawValue) || $0.details["by"] == "administrator" })
  }
}

struct `An account that an administrator changes` {
  let world = World.sending()

  private func edit(_ request: EditAccountRequest, _ call: CallFacts? = nil) async throws -> AccountState {
    try await EditAccount(world.environment)(request, call ?? world.call())
  }

  private func revision(_ change: (inout AccountRevision) -> Void) -> EditAccountRequest {
    var request = EditAccountRequest(accountID: "account-y")
    change(&request.revision)
    return request
  }

  @Test func `a new password signs in, the old one does not, and every session and token from before ends`()
    async throws
  {
    world.store.insert(verified)
    let token = try await world.customToken(for: "account-y")
    let session = try world.session(of: "account-y")
    world.clock.advance(millis: 1_000)
    let state = try await edit(EditAccountRequest(accountID: "account-y", newPassword: "battery staple"))
    #expect(state == world.store.state("account-y"))
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
    _ = try await world.signIn(.password(email: ada, password: "battery staple")).grant
    await refused(.tokenRevoked) { try await Refresh(world.environment)(session.refreshToken, world.call()) }
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(token)) }
    #expect(world.store.contents.deliveries.map(\.kind) == ["password_changed"])
  }

  @Test func `a weak password is rejected, and an unknown account is not found before any hashing`() async throws {
    world.store.insert(verified)
    let before = world.store.contents
    await refused(.weakPassword) { try await edit(EditAccountRequest(accountID: "account-y", newPassword: "short")) }
    await refused(.accountNotFound) {
      try await edit(EditAccountRequest(accountID: "nobody", newPassword: "battery staple"))
    }
    #expect(world.store.contents == before)
  }

  @Test func `a new address also ends the revert links, and both addresses are notified`() async throws {
    world.store.insert(verified)
    let session = try world.session(of: "account-y")
    let code = try await world.emailChange(to: "attacker@example.com", session)
    _ = try await world.confirm(code, session)
    let back = try world.code(.emailChanged, to: ada)
    _ = try await edit(revision { ($0.email, $0.emailVerified) = ("ada@new.example.com", true) })
    #expect(world.store.contents.pendings.isEmpty)
    await refused(.invalidCode) { try await world.confirm(back) }
    let mails = world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
    let recipients = mails.filter { $0.kind == .emailChanged && $0.values["link"] == nil }.map(\.recipient)
    #expect(Set(recipients).isSuperset(of: [.email("ada@new.example.com"), .email("attacker@example.com")]))
  }

  @Test func `an anonymous account becomes permanent, and its anonymous sessions end`() async throws {
    world.store.insert(account(anonymous: true))
    let guest = try world.session(of: "account-y", by: .anonymous)
    let state = try await edit(revision { $0.phoneNumber = number })
    #expect(!state.account.anonymous && state.account.phoneNumber == number)
    #expect(world.store.contents.sessions[guest.sessionID]?.closed?.reason == .becamePermanent)
  }

  @Test func `an address that another call takes first is a conflict`() async throws {
    world.store.insert(verified)
    let environment = world.environment { store in
      store.insert(account(id: "account-z", .verified("new@example.com")))
    }
    await refused(.emailAlreadyInUse) {
      try await EditAccount(environment)(revision { $0.email = "new@example.com" }, world.call())
    }
    #expect(world.store.state("account-y") == verified)
  }

  @Test func `a concurrent change leads to a new decision`() async throws {
    world.store.insert(verified)
    let environment = world.environment { store in store.edit { $0.accounts["account-y"]?.version += 1 } }
    let state = try await EditAccount(environment)(revision { $0.displayName = "Ada" }, world.call())
    #expect(state.account.displayName == "Ada" && state.account.version == 3)
  }

  @Test func `events name the human for whom the caller acts`() async throws {
    world.store.insert(verified)
    let call = CallFacts(
      caller: CallerName("support"), mayFetchByEmail: false, callerIdentified: true, audiences: ["app"],
      actor: "carol@example.com")
    _ = try await edit(revision { $0.displayName = "Ada" }, call)
    #expect(
      world.store.contents.audit.map(\.detailsJSON) == [#"{"actor":"carol@example.com","by":"administrator"}"#])
  }
}
