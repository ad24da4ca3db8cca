import Store
import Testing

@testable import Identity

/// Section 3.4: the credentials that meet no conflict, and single-use tokens.
struct `SignIn, the other credentials` {
  let world = World()
  let wrongPassword = Credential.password(email: ada, password: "wrong")

  // MARK: Passwords

  @Test func `a password opens a session`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let grant = try await world.signIn(rightPassword).grant
    let claims = try world.claims(grant)
    #expect(claims.methods == ["pwd"] && claims.signInProviderID == "password" && !claims.emailVerified)
    #expect(world.store.state("account-y")?.account.lastSignInAt == world.now)
  }

  @Test func `check 35: a wrong password, an unknown address and an account without a password get one answer`()
    async throws
  {
    var answers: Set<Failure> = []
    for owner in [nil, account(.verified(ada), password: true), account(.verified(ada), identities: [google()])] {
      let world = World()
      if let owner { world.store.insert(owner) }
      #expect(
        await world.untouched {
          if let failure = await refused(.invalidLoginCredentials, { try await world.signIn(wrongPassword) }) {
            answers.insert(failure)
          }
        })
      #expect(world.passwords.verifications.count == 1, "one hash is computed in every case")
    }
    #expect(answers.count == 1)
  }

  @Test func `only a call with the right password learns that the account is disabled`() async throws {
    world.store.insert(account(.verified(ada), password: true, disabled: true))
    #expect(
      await world.untouched {
        await refused(.invalidLoginCredentials) { try await world.signIn(wrongPassword) }
        await refused(.userDisabled) { try await world.signIn(rightPassword) }
      })
  }

  @Test func `check 102: a sign-in upgrades an older hash`() async throws {
    world.store.insert(account(.verified(ada), password: true) { $0.passwordHash = "old:correct horse" })
    await refused(.invalidLoginCredentials) { try await world.signIn(wrongPassword) }
    #expect(world.store.state("account-y")?.account.passwordHash == "old:correct horse")
    _ = try await world.signIn(rightPassword).grant
    #expect(world.store.state("account-y")?.account.passwordHash == "hash:correct horse")
    #expect(world.store.state("account-y")?.account.passwordSetAt == beginning, "the password is the same")
  }

  @Test func `S11 a password of an account with a factor opens no session and upgrades no hash`() async throws {
    let owner = account(.verified(ada), password: true, factors: [.totp]) { $0.passwordHash = "old:correct horse" }
    world.store.insert(owner)
    let required = try await world.signIn(rightPassword).required
    #expect(required.factors == owner.factors && required.userInfo == nil)
    #expect(world.store.state("account-y") == owner && world.store.contents.sessions.isEmpty)
    await refused(.invalidLoginCredentials) { try await world.signIn(wrongPassword) }
  }

  @Test func `a password that changes during its check is checked again`() async throws {
    let owner = account(.verified(ada), password: true)
    let checked = CheckedPassword(
      email: ada, ownerID: "account-y", hash: "hash:another", check: PasswordCheck(matches: true))
    var facts = Facts()
    facts.emailOwner = owner
    #expect(CredentialDecision.decide(checked, facts, now: world.now) == .checkAgain)
    facts.emailOwner = nil
    #expect(CredentialDecision.decide(checked, facts, now: world.now) == .checkAgain)
  }

  @Test func `passwords are rejected before any work if they are disabled`() async throws {
    let world = World { $0.passwordEnabled = false }
    world.store.insert(account(.verified(ada), password: true))
    await refused(.operationNotAllowed) { try await world.signIn(rightPassword) }
    #expect(world.passwords.verifications.isEmpty)
  }

  @Test func `check 108: a full password queue fails with a retry delay`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.passwords.fail(with: Failure(.overloaded, retryAfterMillis: 500))
    let before = world.store.contents
    #expect(await refused(.overloaded) { try await world.signIn(rightPassword) }?.retryAfterMillis == 500)
    #expect(world.store.contents == before, "nothing is counted")
  }

  // MARK: Anonymous accounts

  @Test func `each anonymous sign-in creates an account of its own`() async throws {
    let grants = [try await world.signIn(.anonymous).grant, try await world.signIn(.anonymous).grant]
    #expect(grants.allSatisfy { $0.isNewAccount && $0.account.account.anonymous && $0.account.account.email == nil })
    #expect(Set(grants.map(\.account.account.id)).count == 2)
    #expect(try world.claims(grants[0]).methods == ["anon"])
    #expect(try world.claims(grants[0]).signInProviderID == "anonymous")
  }

  @Test func `anonymous sign-in can be disabled, and creates nothing with existing_only`() async throws {
    let closed = World { $0.anonymousEnabled = false }
    #expect(await closed.untouched { await refused(.operationNotAllowed) { try await closed.signIn(.anonymous) } })
    #expect(
      await world.untouched {
        await refused(.accountNotFound) { try await world.signIn(.anonymous, existingOnly: true) }
      })
  }

  // MARK: Custom tokens

  private func custom(
    _ accountID: String, lifetimeMillis: Int64 = 3_600_000, claims: String = "", in world: World? = nil
  ) throws -> Credential {
    let now = (world ?? self.world).now
    return .customToken(
      try (world ?? self.world).tokens.mintCustomToken(
        CustomToken(
          accountID: accountID, issuedAt: now, expiresAt: now.adding(millis: lifetimeMillis), claimsJSON: claims)))
  }

  @Test func `a guest that signs in with a custom token becomes permanent`() async throws {
    world.store.insert(account(id: "guest", anonymous: true))
    _ = try await world.signIn(custom("guest")).grant
    let stored = try #require(world.store.state("guest")?.account)
    #expect(!stored.anonymous && stored.customToken)
  }

  @Test func `a custom token creates the account that it names, once, and signs in to it`() async throws {
    let first = try await world.signIn(try custom("customer:1")).grant
    let second = try await world.signIn(try custom("customer:1")).grant
    #expect(first.isNewAccount && !second.isNewAccount)
    #expect([first, second].allSatisfy { $0.account.account.id == "customer:1" })
    #expect(try world.claims(second).methods == ["custom"])
    #expect(world.store.contents.events(of: "customer:1") == ["ACCOUNT_CREATED"])
  }

  @Test func `the id of a removed account is never used again`() async throws {
    let session = try await world.signIn(try custom("customer:1")).grant
    try await DeleteAccount(world.environment)(idToken: session.idToken, world.call())
    await refused(.accountNotFound) { try await world.signIn(try custom("customer:1")) }
    #expect(world.store.contents.closedAccounts["customer:1"]?.survivorID == "")
  }

  @Test func `the claims of a custom token stay in the session through each refresh`() async throws {
    let grant = try await world.signIn(try custom("customer:1", claims: #"{"plan":"gold"}"#)).grant
    #expect(try world.claims(grant).sessionClaimsJSON == #"{"plan":"gold"}"#)
    let refreshed = try await Refresh(world.environment)(grant.refreshToken, world.call())
    #expect(try world.claims(refreshed).sessionClaimsJSON == #"{"plan":"gold"}"#)
    #expect(refreshed.account.account.customClaimsJSON.isEmpty)
  }

  @Test func `a custom token creates nothing with existing_only`() async throws {
    #expect(
      await world.untouched {
        await refused(.accountNotFound) { try await world.signIn(try custom("customer:1"), existingOnly: true) }
      })
  }

  @Test(arguments: ["", "a b", "ä", String(repeating: "a", count: 129)])
  func `a custom token for an invalid account id is rejected`(_ accountID: String) async throws {
    await refused(.invalidCustomToken) { try await world.signIn(try custom(accountID)) }
    #expect(world.store.contents == Tables())
  }

  @Test func `a custom token may be valid for an hour, and one that is valid for longer is rejected`() async throws {
    _ = try await world.signIn(try custom("a", lifetimeMillis: 3_600_000)).grant
    await refused(.invalidCustomToken) { try await world.signIn(try custom("b", lifetimeMillis: 3_600_001)) }
  }

  @Test func `a custom token with a reserved claim is refused`() async throws {
    await refused(.forbiddenClaim) { try await world.signIn(try custom("a", claims: "{\"sub\":\"b\"}")) }
    #expect(world.store.contents == Tables())
  }

  @Test func `a custom token counts as the first factor only`() async throws {
    world.store.insert(account(factors: [.totp]))
    _ = try await world.signIn(try custom("account-y")).required
    #expect(world.store.contents.sessions.isEmpty)
  }

  @Test func `a custom token from before tokens_valid_after, or of a disabled account, is rejected`() async throws {
    world.store.insert(account { $0.tokensValidAfter = world.now })
    _ = try await world.signIn(try custom("account-y")).grant
    let old = try custom("account-y")
    world.store.edit { $0.accounts["account-y"]?.tokensValidAfter = world.now.adding(millis: 1) }
    await refused(.invalidCustomToken) { try await world.signIn(old) }
    world.store.insert(account(id: "off", disabled: true))
    await refused(.userDisabled) { try await world.signIn(try custom("off")) }
  }

  @Test func `custom tokens can be disabled`() async throws {
    let world = World { $0.customTokenEnabled = false }
    await refused(.operationNotAllowed) { try await world.signIn(try custom("a", in: world)) }
  }

  // MARK: Single-use tokens

  @Test func `check 46: a single-use provider token signs in once`() async throws {
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 600_000)))
    _ = try await world.signIn(token).grant
    #expect(await world.untouched { await refused(.missingOrInvalidNonce) { try await world.signIn(token) } })
  }

  @Test func `a completion spends the single-use token of a conflict, and nothing does before`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let token = Credential.providerToken(
      world.providers.token(google(), singleUseUntil: world.now.adding(millis: 600_000)))
    _ = try await world.signIn(token).exists
    let handle = try await world.signIn(token).exists.handle
    _ = try await world.signIn(rightPassword, pendingToken: handle).grant
    await refused(.missingOrInvalidNonce) { try await world.signIn(token) }
  }

  @Test func `check 46: a completion after a second factor spends the single-use token of a conflict`()
    async throws
  {
    world.insertPerson([.totp])
    let token = Credential.providerToken(
      world.providers.token(corp(), singleUseUntil: world.now.adding(millis: 600_000)))
    var rows: [SecondFactorRequired] = []
    for _ in 0..<2 {
      let handle = try await world.signIn(token).exists.handle
      rows.append(try await world.signIn(rightPassword, pendingToken: handle).required)
    }
    #expect(world.store.contents.spent.isEmpty)
    #expect(try await world.finish(rows[0]).grant.account.holds(corp().identity))
    #expect(world.store.contents.spent.count == 1)
    await refused(.missingOrInvalidNonce) { try await world.finish(rows[1], "factor-totp", world.totpCode(1)) }
    await refused(.missingOrInvalidNonce) { try await world.signIn(token) }
    #expect(world.store.contents.openSessions(of: "account-y").count == 1)
  }
}
