import Store
import Testing

@testable import Identity

/// Section 3.1, rows S1 to S4 and S9 to S11: no conflict of addresses.
struct `SignIn, an identity or a free address` {
  let world = World()
  let other = "bob@example.com"

  @Test func `S1 a known identity signs in even if another account owns the asserted address`() async throws {
    world.store.insert(account(id: "x", .verified(other), identities: [google(email: other)]))
    world.store.insert(account(.verified(ada), password: true))
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "x" && !grant.isNewAccount)
    #expect(grant.account.account.email == other)
    #expect(world.store.state("account-y") == account(.verified(ada), password: true))
    #expect(world.store.contents.events(of: "x") == ["ADDRESS_OWNED_ELSEWHERE"])
  }

  @Test func `S1 an address of another account causes an event once, not at every sign-in`() async throws {
    world.store.insert(account(id: "x", .verified(other), identities: [google(email: other)]))
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.signIn(google())
    _ = try await world.signIn(google())
    #expect(world.store.contents.events(of: "x").count == 1)
  }

  @Test func `S1 the identity's profile is refreshed, and only empty fields of the account are filled`() async throws {
    var old = google()
    old.displayName = "Old"
    world.store.insert(account(.verified(ada), identities: [old]) { $0.displayName = "Mine" })
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.displayName == "Mine")
    #expect(grant.account.account.photoURL == google().photoURL)
    #expect(world.store.state("account-y")?.identities.first?.displayName == "Ada at google.com")
    #expect(world.store.state("account-y")?.identities.first?.linkedAt == beginning)
    #expect(world.store.state("account-y")?.account.photoURL == google().photoURL)
  }

  @Test func `S1 a name and a photo that a provider sends only once stay with the identity`() async throws {
    let first = google()
    world.store.insert(account(.verified(ada), identities: [first]) { $0.displayName = "A"; $0.photoURL = "p" })
    var later = google()
    (later.displayName, later.photoURL, later.username) = ("", "", "countess")
    let grant = try await world.signIn(later).grant
    let identity = try #require(world.store.state("account-y")?.identities.first)
    #expect(identity.displayName == first.displayName && identity.photoURL == first.photoURL)
    #expect(identity.username == "countess", "the rest follows the provider")
    #expect(grant.account.identities == [identity])
  }

  @Test func `S1 an address that the provider omits this time stays with the identity`() async throws {
    let first = google(tier: .verified)
    world.store.insert(account(.verified("bea@example.com"), identities: [first]))
    _ = try await world.signIn(google(email: nil, tier: .unverified))
    let identity = try #require(world.store.state("account-y")?.identities.first)
    #expect(identity.email == first.email && identity.tier == .verified)
  }

  @Test func `S1 an unchanged assertion changes nothing but the time`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]) { $0.displayName = "A"; $0.photoURL = "p" })
    var later = google()
    (later.displayName, later.photoURL) = ("", "")
    _ = try await world.signIn(later)
    #expect(world.store.state("account-y")?.account.version == 1)
    #expect(world.store.state("account-y")?.identities.first?.displayName == google().displayName)
  }

  @Test(arguments: TrustTier.allCases)
  func `S1 an empty address is filled if the asserted one is free and verified by its tier`(
    _ tier: TrustTier
  ) async throws {
    world.store.insert(account(identities: [google(email: nil)]))
    let account = try await world.signIn(google(tier: tier)).grant.account.account
    #expect(account.email == ada && account.emailAddress?.source == "google.com")
    #expect(account.emailVerified == (tier >= .verified))
  }

  @Test func `S1 an empty address stays empty when another account owns it`() async throws {
    world.store.insert(account(id: "x", identities: [google(email: nil)]))
    world.store.insert(account(.unverified(ada), password: true))
    #expect(try await world.signIn(google()).grant.account.account.email == nil)
    #expect(world.store.state("account-y")?.account.email == ada)
  }

  @Test func `S1 an equal unverified address is verified by tier`() async throws {
    world.store.insert(account(.unverified(ada), identities: [google(tier: .unverified)]))
    let account = try await world.signIn(google(tier: .verified)).grant.account.account
    #expect(account.emailAddress?.verification == .assertion(providerID: "google.com"))
  }

  @Test func `S1 with 3.5 an assertion without a session does not verify an address with an earlier password`()
    async throws
  {
    world.store.insert(account(.unverified(ada), password: true, identities: [google(tier: .unverified)]))
    let account = try await world.signIn(google()).grant.account.account
    #expect(!account.emailVerified, "unverified, so that the password cannot open a verified account")
    #expect(account.passwordHash != nil, "the account keeps everything")
  }

  @Test func `S1 parallel sign-ins of one user do not raise the version`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]) { $0.displayName = "A"; $0.photoURL = "p" })
    _ = try await world.signIn(google())
    #expect(world.store.state("account-y")?.account.version == 1)
    #expect(world.store.state("account-y")?.account.lastSignInAt == world.now)
  }

  @Test func `S2 check 25: a user name never becomes the address of an account`() async throws {
    var nameless = corp(email: nil)
    nameless.username = ada
    let grant = try await world.signIn(nameless).grant
    #expect(grant.isNewAccount)
    #expect(grant.account.account.email == nil)
    #expect(world.store.contents.events(of: grant.account.account.id) == ["ACCOUNT_CREATED"])
  }

  @Test func `check 27: neither a user name nor a phone number ever finds an account`() async throws {
    world.store.insert(account(.verified(other), phone: "+15550100", identities: [google("ada", email: other)]))
    var twin = corp(email: nil)
    twin.username = google("ada").username
    #expect(try await world.signIn(twin).grant.isNewAccount)
  }

  @Test(arguments: [TrustTier.verified, .authoritative])
  func `S3 a free address of tier verified or above creates a verified account`(_ tier: TrustTier) async throws {
    let grant = try await world.signIn(google(tier: tier)).grant
    let stored = try #require(world.store.state(grant.account.account.id))
    #expect(grant.isNewAccount && grant.account == stored)
    #expect(stored.account.email == ada)
    #expect(stored.account.emailAddress?.verification == .assertion(providerID: "google.com"))
    #expect(stored.account.emailAddress?.source == "google.com")
    #expect(stored.account.displayName == "Ada at google.com" && stored.identities.count == 1)
    #expect(grant.userInfo?.username == "ada-g-1")
  }

  @Test func `S4 a free address of a lower tier creates an unverified account`() async throws {
    let grant = try await world.signIn(corp()).grant
    #expect(grant.isNewAccount && grant.account.account.email == ada && !grant.account.account.emailVerified)
  }

  @Test func `S9 existing_only creates nothing, with or without a free address`() async throws {
    #expect(
      await world.untouched {
        await refused(.accountNotFound) { try await world.signIn(google(), existingOnly: true) }
        await refused(.accountNotFound) { try await world.signIn(corp(email: nil), existingOnly: true) }
      })
  }

  @Test func `S9 existing_only prevents only the creation of accounts`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let reclaimed = try await world.signIn(google(), existingOnly: true).grant
    #expect(reclaimed.account.account.id == "account-y")
    #expect(try await world.signIn(google(), existingOnly: true).grant.account.account.id == "account-y")
    _ = try await world.signIn(corp(), existingOnly: true).exists
  }

  @Test func `S10 a disabled owner of the identity fails as disabled and nothing is written`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()], factors: [.totp], disabled: true))
    #expect(await world.untouched { await refused(.userDisabled) { try await world.signIn(google()) } })
  }

  @Test func `S11 check 19: a second factor comes before any write to the account`() async throws {
    world.store.insert(account(identities: [google(email: nil)], factors: [.totp, .recoveryCode]))
    let before = world.store.contents
    let required = try await world.signIn(google()).required
    #expect(required.factors.map(\.kind) == [.totp, .recoveryCode])
    #expect(required.userInfo?.providerID == "google.com")
    let row = try #require(try world.row(required.handle))
    #expect(row.purpose == .secondFactor && row.accountID == "account-y" && row.identity == google().identity)
    var after = world.store.contents
    after.pendings = [:]
    #expect(after == before, "no session, no profile, no address")
  }

  @Test func `duplicate mode does not compare, copy or verify an address`() async throws {
    let world = World { $0.oneAccountPerEmail = false }
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "x", identities: [google("g-2", email: nil)]))
    let grant = try await world.signIn(google()).grant
    #expect(grant.isNewAccount && grant.account.account.email == nil)
    #expect(grant.account.identities.first?.email == ada)
    #expect(try await world.signIn(google("g-2")).grant.account.account.email == nil)
    #expect(try await world.signIn(rightPassword).grant.account.account.id == "account-y")
  }

  @Test func `a disabled provider is rejected before it is asked`() async throws {
    #expect(
      await world.untouched {
        await refused(.operationNotAllowed) {
          try await world.signIn(assertion("oidc.unknown", "u", email: ada, tier: .unverified))
        }
      })
  }

  @Test func `the session of a sign-in states its account, method, time and audience`() async throws {
    let grant = try await world.signIn(google()).grant
    let claims = try world.claims(grant)
    #expect(claims.accountID == grant.account.account.id && claims.sessionID == grant.sessionID)
    #expect(claims.audience == "app" && claims.authTime == world.now && claims.methods == ["fed"])
    #expect(claims.signInProviderID == "google.com" && claims.identities == [google().identity])
    #expect(claims.email == ada && claims.emailVerified)
    let session = try #require(world.store.contents.sessions[grant.sessionID])
    #expect(session.ipAddress == "192.0.2.1" && session.userAgent == "test" && session.deviceID == "device")
  }
}
