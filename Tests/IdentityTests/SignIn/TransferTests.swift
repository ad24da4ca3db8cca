import Store
import Testing

@testable import Identity

private let apple = "apple.com"

private func token(_ subject: String, of transferSubject: String = "", email: String? = ada) -> Assertion {
  var assertion = assertion(apple, subject, email: email, tier: .verified)
  assertion.transferSubject = transferSubject
  return assertion
}

/// Section 18, rows X5 to X9.
struct `Sign-ins after an application of Apple moved` {
  let world = World { $0.enabledProviderIDs.insert(apple) }
  private let relay = "old@privaterelay.appleid.com"

  /// An account with the identity `old`, and its transfer identifier.
  private func prepare(_ id: String = "account-y", _ subject: String = "old", transfer: String? = "t-1",
    edit: (inout AccountState) -> Void = { _ in }
  ) {
    var state = account(id: id, .verified(relay), identities: [token(subject, email: relay)])
    state.identities[0].transferSubject = transfer
    edit(&state)
    world.store.insert(state)
  }

  private func state(_ id: String = "account-y") -> AccountState? { world.store.state(id) }

  @Test func `X5 a known subject signs in as before, and the claim is ignored`() async throws {
    prepare()
    prepare("other", "new", transfer: nil) { $0.account.emailAddress = nil }
    let before = state()
    let grant = try await world.signIn(token("new", of: "t-1")).grant
    #expect(grant.account.account.id == "other" && !grant.isNewAccount)
    #expect(state() == before)
    #expect(world.store.contents.events(of: "account-y").isEmpty)
  }

  @Test func `X5 a sign-in before the move keeps the transfer identifier`() async throws {
    prepare()
    var before = token("old", email: "later@example.com")
    before.displayName = "Ada L."
    _ = try await world.signIn(before)
    #expect(state()?.identities.first?.transferSubject == "t-1")
    #expect(state()?.identities.first?.displayName == "Ada L.")
  }

  @Test func `X6 an unknown subject with a known transfer identifier replaces the subject`() async throws {
    prepare()
    let grant = try await world.signIn(token("new", of: "t-1", email: "new@privaterelay.appleid.com")).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
    let identity = try #require(state()?.identities.first)
    #expect(state()?.identities.count == 1 && identity.key == IdentityKey(providerID: apple, subject: "new"))
    #expect(identity.transferSubject == nil && identity.linkedAt == beginning)
    #expect(identity.email == "new@privaterelay.appleid.com")
    // The account's own address is not replaced, as in S1.
    #expect(state()?.account.email == relay)
    #expect(world.store.contents.events(of: "account-y") == ["IDENTITY_TRANSFERRED"])
    // From now on, the subject is known, with the claim or without.
    _ = try await world.signIn(token("new", of: "t-1"))
    _ = try await world.signIn(token("new"))
    #expect(world.store.contents.events(of: "account-y") == ["IDENTITY_TRANSFERRED"])
  }

  @Test func `X6 an empty address of the account is filled, and one of another account stays there`() async throws {
    prepare { $0.account.emailAddress = nil }
    world.store.insert(account(id: "owner", .verified(ada), password: true))
    _ = try await world.signIn(token("new", of: "t-1"))
    #expect(state()?.account.email == nil)
    #expect(
      Set(world.store.contents.events(of: "account-y")) == ["IDENTITY_TRANSFERRED", "ADDRESS_OWNED_ELSEWHERE"])
    prepare("b", "old-b", transfer: "t-2") { $0.account.emailAddress = nil }
    _ = try await world.signIn(token("new-b", of: "t-2", email: "free@example.com"))
    #expect(state("b")?.account.email == "free@example.com")
  }

  @Test func `X6 a disabled account stays disabled, and the subject stays`() async throws {
    prepare { $0.account.disabled = true }
    await refused(.userDisabled) { try await world.signIn(token("new", of: "t-1")) }
    #expect(state()?.identities.first?.key.subject == "old")
  }

  @Test func `X6 a second factor comes first, and the subject is replaced after it`() async throws {
    world.insertPerson([.totp], identities: [token("old")])
    let key = IdentityKey(providerID: apple, subject: "old")
    world.store.edit { $0.identities[key]?.transferSubject = "t-1" }
    let required = try await world.signIn(token("new", of: "t-1", email: relay)).required
    #expect(self.state()?.identities.first?.key.subject == "old")
    guard case .session(let grant, _) = try await world.finish(required, world.call()) else {
      Issue.record("the user has both factors")
      return
    }
    #expect(grant.account.account.id == "account-y")
    #expect(self.state()?.identities.map(\.key.subject) == ["new"])
    #expect(world.store.contents.events(of: "account-y").contains("IDENTITY_TRANSFERRED"))
  }

  @Test func `L2 a guest who links the new subject learns that an account has it, and X6 follows`() async throws {
    prepare()
    let guest = try await world.signIn(.anonymous).grant
    guard case .credentialInUse(let inUse) = try await world.link(token("new", of: "t-1"), guest) else {
      Issue.record("the account with the former subject is the owner")
      return
    }
    #expect(state()?.identities.first?.key.subject == "old")
    let grant = try await world.signIn(.pendingToken(inUse.handle)).grant
    #expect(grant.account.account.id == "account-y" && state()?.identities.map(\.key.subject) == ["new"])
  }

  @Test func `the owner of the former subject signs in once instead of linking the new one`() async throws {
    prepare()
    let session = try world.session(of: "account-y")
    let failure = await refused(.providerAlreadyLinked) { try await world.link(token("new", of: "t-1"), session) }
    #expect(failure?.hint.contains("former subject") == true)
    #expect(state()?.identities.map(\.key.subject) == ["old"])
  }

  @Test func `X7 both are unknown: a new account`() async throws {
    let grant = try await world.signIn(token("new", of: "t-9")).grant
    #expect(grant.isNewAccount)
  }

  @Test func `X7 the account was removed, or the identity unlinked: a new account`() async throws {
    prepare()
    let session = try world.session(of: "account-y")
    try await DeleteAccount(world.environment)(idToken: session.idToken, world.call())
    let grant = try await world.signIn(token("new", of: "t-1")).grant
    #expect(grant.isNewAccount && grant.account.account.id != "account-y")
  }

  @Test func `X8 only the provider's own identity counts`() async throws {
    prepare()
    var foreign = google("new", email: nil)
    foreign.transferSubject = "t-1"
    #expect(try await world.signIn(foreign).grant.isNewAccount)
    #expect(state()?.identities.first?.key.subject == "old")
  }

  @Test func `X9 of two sign-ins at the same time, one replaces the subject and both open sessions`() async throws {
    prepare()
    async let first = world.signIn(token("new", of: "t-1")).grant
    async let second = world.signIn(token("new", of: "t-1")).grant
    let ids = try await [first, second].map(\.account.account.id)
    #expect(ids == ["account-y", "account-y"] && state()?.identities.count == 1)
    #expect(world.store.contents.events(of: "account-y") == ["IDENTITY_TRANSFERRED"])
  }
}

/// Section 18, rows X1 to X4.
struct `Transfer identifiers, every row` {
  let world = World { $0.enabledProviderIDs.insert(apple) }

  init() {
    world.store.insert(account(id: "a", identities: [token("1", email: nil)]))
    world.store.insert(account(id: "b", identities: [token("2", email: nil)]))
  }

  private func set(_ rows: (String, String)...) async throws -> [String] {
    let rows = rows.map { SetTransferSubjects.Row(subject: $0.0, transferSubject: $0.1) }
    return try await SetTransferSubjects(world.environment)(rows, world.call()).map { verdict in
      switch verdict {
      case .done: "done"
      case .unchanged: "unchanged"
      case .refused(let failure): failure.reason.rawValue
      }
    }
  }

  private func transferSubject(of id: String) -> String? { world.store.state(id)?.identities.first?.transferSubject }

  @Test func `X1 X2 X3 X4: each row is decided alone`() async throws {
    #expect(try await set(("1", "t"), ("9", "u"), ("2", "t"), ("1", "t")) == [
      "done", "ACCOUNT_NOT_FOUND", "PROVIDER_ALREADY_LINKED", "unchanged",
    ])
    #expect(transferSubject(of: "a") == "t" && transferSubject(of: "b") == nil)
    #expect(world.store.contents.events(of: "a") == ["TRANSFER_SUBJECT_SET"])
    #expect(world.store.contents.events(of: "b").isEmpty)
  }

  @Test func `X4 another identifier replaces the one before, which is free then`() async throws {
    #expect(try await set(("1", "t"), ("1", "u"), ("2", "t")) == ["done", "done", "done"])
    #expect(transferSubject(of: "a") == "u" && transferSubject(of: "b") == "t")
    // A change of the identity raises the version of the account.
    #expect(world.store.state("a")?.account.version == 3)
  }

  @Test func `X3 of two concurrent rows with one identifier, one succeeds`() async throws {
    async let first = set(("1", "t"))
    async let second = set(("2", "t"))
    #expect(try await Set(first + second) == ["done", "PROVIDER_ALREADY_LINKED"])
  }
}
