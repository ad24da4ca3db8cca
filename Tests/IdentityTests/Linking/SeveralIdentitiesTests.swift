import Store
import Testing

@testable import Identity

/// `identities_per_provider_max`: L3, S8, section 5, Merge, and what administrators do.
struct `Several identities of one provider` {
  let world = World { $0.identitiesPerProviderMax = 2 }

  private func subjects() -> [String] {
    world.store.state("account-y")?.identities.map(\.key.subject).sorted() ?? []
  }

  private func session(_ identities: [Assertion]) throws -> SessionGrant {
    world.store.insert(account(.verified(ada), password: true, identities: identities))
    return try world.session(of: "account-y")
  }

  private func unlink(_ subject: String, _ session: SessionGrant) async throws -> SessionGrant {
    try await Unlink(world.environment)(
      UnlinkRequest(idToken: session.idToken, providerID: "google.com", subject: subject), world.call())
  }

  @Test func `L3: a second subject is linked, and a third is rejected`() async throws {
    let session = try session([google("g-1")])
    _ = try await world.link(google("g-2"), session)
    #expect(subjects() == ["g-1", "g-2"])
    await refused(.providerAlreadyLinked) { try await world.link(google("g-3"), session) }
    #expect(subjects() == ["g-1", "g-2"])
  }

  @Test func `both subjects sign in to the account`() async throws {
    _ = try session([google("g-1"), google("g-2")])
    for subject in ["g-1", "g-2"] {
      #expect(try await world.signIn(google(subject)).grant.account.account.id == "account-y")
    }
  }

  @Test func `S8: an unknown subject with the account's address is still a conflict`() async throws {
    _ = try session([google("g-1")])
    let conflict = try await world.signIn(google("g-2", tier: .authoritative)).exists
    #expect(conflict.reason == .subjectChanged && !conflict.methods.contains("google.com"))
    #expect(subjects() == ["g-1"])
  }

  @Test func `an unlink of several must name the subject`() async throws {
    let session = try session([google("g-1"), google("g-2")])
    let failure = await refused(.invalidField) { try await unlink("", session) }
    #expect(failure?.field == "subject")
    await refused(.noSuchProvider) { try await unlink("g-3", session) }
    #expect(subjects() == ["g-1", "g-2"])
    let next = try await unlink("g-2", session)
    #expect(subjects() == ["g-1"])
    _ = try await unlink("", next)
    #expect(subjects().isEmpty)
  }

  @Test func `one of several is not the last sign-in method, but the last of them may be`() async throws {
    world.store.insert(account(.verified(ada), identities: [google("g-1"), google("g-2")]))
    let session = try world.session(of: "account-y")
    let next = try await unlink("g-1", session)
    await refused(.lastSignInMethod) { try await unlink("g-2", next) }
  }

  @Test func `an unlink takes no address that another identity of the provider brought`() async throws {
    var state = account(.verified(ada, by: .assertion(providerID: "google.com")), identities: [google("g-1")])
    state.account.emailAddress?.source = "google.com"
    // The user's address at the provider is another one since.
    state.identities[0].email = "later@example.com"
    state.identities.append(IdentityRecord(
      assertion: google("g-2", email: "bob@example.com"), accountID: "account-y", linkedAt: beginning))
    world.store.insert(state)
    let next = try await unlink("g-2", try world.session(of: "account-y"))
    #expect(world.store.state("account-y")?.account.email == ada)
    await refused(.lastSignInMethod) { try await unlink("g-1", next) }
  }

  @Test(arguments: [1, 2])
  func `another identity of the provider can be added before the last is unlinked, if several may be`(
    identitiesMax: Int
  ) async throws {
    let world = World { $0.identitiesPerProviderMax = identitiesMax }
    world.store.insert(account(.verified(ada), identities: [google("g-1")]))
    let failure = await refused(.lastSignInMethod) {
      try await world.unlink("google.com", try world.session(of: "account-y"))
    }
    let addable = failure?.metadata["addable_methods"]?.split(separator: ",") ?? []
    #expect(addable.contains("google.com") == (identitiesMax > 1))
  }

  @Test func `a subject of a method without subjects is rejected`() async throws {
    let session = try session([google("g-1")])
    await refused(.noSuchProvider) {
      try await Unlink(world.environment)(
        UnlinkRequest(idToken: session.idToken, providerID: "password", subject: "x"), world.call())
    }
  }

  @Test func `an administrator links and unlinks within the same limit`() async throws {
    _ = try session([google("g-1")])
    func link(_ subject: String) async throws {
      let key = IdentityKey(providerID: "google.com", subject: subject)
      let identity = ImportRow.Identity(key: key, email: nil, displayName: "", photoURL: "")
      _ = try await LinkIdentity(world.environment)(identity, accountID: "account-y", world.call())
    }
    try await link("g-2")
    await refused(.providerAlreadyLinked) { try await link("g-3") }
    let unlink = UnlinkProvider(world.environment)
    await refused(.invalidField) {
      try await unlink(accountID: "account-y", providerID: "google.com", world.call())
    }
    _ = try await unlink(accountID: "account-y", providerID: "google.com", subject: "g-1", world.call())
    #expect(subjects() == ["g-2"])
  }

  @Test func `a merge keeps the identities of both within the limit, and asks beyond it`() throws {
    let mine = account(.verified(ada), identities: [google("g-1")])
    let theirs = account(id: "other", identities: [google("g-2", email: nil, tier: .unverified)])
    let plan = try MergePlan(mine, theirs, keep: [], policy: world.policy, now: world.now)
    #expect(plan.conflicts.isEmpty && Set(plan.edit.state.identities.map(\.key.subject)) == ["g-1", "g-2"])
    let more = account(id: "other", identities: [google("g-2"), google("g-3")])
    let open = try MergePlan(mine, more, keep: [], policy: world.policy, now: world.now)
    #expect(open.conflicts.map(\.field) == ["google.com"])
  }
}
