import Store
import Testing

@testable import Identity

/// Section 3.3: a verified email address belongs to an account that never verified it.
struct `Reclaim and claim` {
  let world = World()

  private func squatted(edit: (inout AccountRecord) -> Void = { _ in }) -> AccountState {
    account(.unverified(ada), password: true, emailLink: true) { record in
      record.displayName = "Squatter"
      record.photoURL = "https://squatter/"
      record.customClaimsJSON = "{\"role\":\"admin\"}"
      edit(&record)
    }
  }

  @Test func `S6a check 5: the owner of the mailbox gets the account and its id, and all unverified data is removed`()
    async throws
  {
    world.store.insert(squatted())
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
    #expect(grant.revokedProviderIDs == ["password"])
    let stored = try #require(world.store.state("account-y"))
    #expect(stored == grant.account)
    #expect(stored.account.email == ada)
    #expect(stored.account.emailAddress?.verification == .assertion(providerID: "google.com"))
    #expect(stored.account.emailAddress?.source == "google.com")
    #expect(stored.account.passwordHash == nil && stored.account.passwordSetAt == nil && !stored.account.emailLink)
    #expect(stored.account.displayName == "Ada at google.com" && stored.account.photoURL == google().photoURL)
    #expect(stored.account.customClaimsJSON == #"{"role":"admin"}"#, "only an administrator can have set them")
    #expect(try world.claims(grant).customClaimsJSON == stored.account.customClaimsJSON)
    #expect(stored.identities.map(\.key) == [google().identity])
    let note = try #require(world.store.contents.audit.first)
    #expect(note.event == "RECLAIMED")
    #expect(
      note.detailsJSON
        == #"{"kept":"custom_claims","provider_id":"google.com","revoked_provider_ids":"password"}"#)
  }

  @Test func `a reclaim reports a squatter's sign-in links as emailLink`()
    async throws
  {
    world.store.insert(account(.unverified(ada), emailLink: true))
    #expect(try await world.signIn(google()).grant.revokedProviderIDs == ["emailLink"])
    let note = try #require(world.store.contents.audit.first)
    #expect(note.detailsJSON == #"{"provider_id":"google.com","revoked_provider_ids":"emailLink"}"#)
  }

  @Test func `S6a check 6: the squatter's password, sessions, custom tokens and pending rows are invalid`()
    async throws
  {
    world.store.insert(squatted())
    let squatter = try await world.signIn(rightPassword).grant
    let custom = try world.tokens.mintCustomToken(
      CustomToken(accountID: "account-y", issuedAt: world.now, expiresAt: world.now.adding(millis: 3_600_000)))
    let pending = try await world.signIn(corp()).exists.handle
    world.clock.advance(millis: 1000)
    let grant = try await world.signIn(google()).grant
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
    await refused(.invalidCustomToken) { try await world.signIn(.customToken(custom)) }
    await refused(.tokenRevoked) { try await world.reauthenticate(rightPassword, squatter) }
    await refused(.tokenRevoked) { try await Refresh(world.environment)(squatter.refreshToken, world.call()) }
    #expect(try world.row(pending) == nil)
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [grant.sessionID])
  }

  @Test func `setting reclaim: verified allows tier verified, and refuse allows none`() async throws {
    let verified = World { $0.reclaim = .verified }
    verified.store.insert(squatted())
    #expect(try await verified.signIn(google(tier: .verified)).grant.revokedProviderIDs == ["password"])
    let refusing = World { $0.reclaim = .refuse }
    refusing.store.insert(squatted())
    #expect(try await refusing.signIn(google()).exists.canClaimAddress)
    #expect(refusing.store.state("account-y") == squatted())
  }

  @Test func `S6a an account with a second factor is never reclaimed`() async throws {
    let world = World { $0.reclaim = .verified }
    world.store.insert(account(.unverified(ada), password: true, factors: [.totp]))
    _ = try await world.signIn(google()).exists
    #expect(world.store.state("account-y")?.account.passwordHash != nil)
  }

  @Test(arguments: [false, true])
  func `check 5: an account with custom tokens is not reclaimed, since they would still open it`(
    _ isNew: Bool
  ) async throws {
    if !isNew { world.store.insert(account()) }
    let token = Credential.customToken(
      try world.tokens.mintCustomToken(
        CustomToken(accountID: "account-y", issuedAt: world.now, expiresAt: world.now.adding(millis: 3_600_000))))
    let squatter = try await world.signIn(token).grant
    _ = try await world.link(.password(email: ada, password: "correct horse"), squatter).grant
    #expect(try await world.signIn(google()).exists.canClaimAddress)
    let mine = try await world.signIn(google(), claimAddress: true).grant
    let theirs = try await world.signIn(token).grant
    #expect(mine.account.account.id != "account-y" && theirs.account.account.id == "account-y")
    #expect(mine.account.account.email == ada && theirs.account.account.email == nil)
  }

  @Test(arguments: TrustTier.allCases)
  func `check 9: no sign-in removes anything from an account whose address is verified`(
    _ tier: TrustTier
  ) async throws {
    let world = World { $0.reclaim = .verified; $0.autoLink = .authoritative }
    let owner = account(.verified(ada), password: true, emailLink: true, identities: [corp()])
    world.store.insert(owner)
    let session = try world.session(of: "account-y")
    _ = try await world.signIn(google(tier: tier), claimAddress: true)
    let after = try #require(world.store.state("account-y"))
    #expect(after.account.passwordHash == owner.account.passwordHash && after.account.emailLink)
    #expect(after.account.email == ada && after.identities.contains(owner.identities[0]))
    #expect(world.store.contents.openSessions(of: "account-y").contains { $0.id == session.sessionID })
  }

  @Test func `check 8: a claim takes the address and its methods, and leaves the rest with the account`() async throws {
    let owner = account(
      .unverified(ada), password: true, emailLink: true, phone: "+15550100", identities: [corp()], factors: [.totp]
    ) { $0.displayName = "Keeps this" }
    world.store.insert(owner)
    let passwordSession = try world.session(of: "account-y")
    let corpSession = try world.session(of: "account-y", by: .provider("oidc.corp"))
    #expect(try await world.signIn(google()).exists.canClaimAddress)
    let grant = try await world.signIn(google(), claimAddress: true).grant
    #expect(grant.isNewAccount && grant.account.account.id != "account-y")
    #expect(grant.account.account.email == ada)
    #expect(grant.account.account.emailAddress?.verification == .assertion(providerID: "google.com"))
    let left = try #require(world.store.state("account-y"))
    #expect(left.account.email == nil && left.account.emailAddress?.source == nil)
    #expect(left.account.passwordHash == nil && !left.account.emailLink)
    #expect(left.account.phoneNumber == "+15550100" && left.account.displayName == "Keeps this")
    #expect(left.identities == owner.identities && left.factors == owner.factors)
    #expect(world.store.contents.events(of: "account-y") == ["ADDRESS_DETACHED"])
    let open = world.store.contents.openSessions(of: "account-y").map(\.id)
    #expect(open == [corpSession.sessionID] && !open.contains(passwordSession.sessionID))
    await refused(.invalidLoginCredentials) { try await world.signIn(rightPassword) }
  }

  @Test func `existing_only does not allow a claim, since a claim creates an account`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    _ = try await world.signIn(google(), existingOnly: true, claimAddress: true).exists
    #expect(world.store.contents.accounts.count == 1)
  }

  @Test func `a pending row from before a claim cannot restore the address`() async throws {
    world.store.insert(account(.unverified(ada), password: true, identities: [corp()]))
    let handle = try await world.signIn(google()).exists.handle
    _ = try await world.signIn(google(), claimAddress: true)
    await refused(.pendingCredentialMismatch) { try await world.signIn(corp(), pendingToken: handle) }
  }
}
