import Store
import Testing

@testable import Identity

/// Section 3.2: purposes do not mix, and a handle that is the only credential is used up by its first success.
struct `Purposes of pending tokens` {
  let world = World()

  private func inUse(_ call: CallFacts? = nil) -> String {
    world.store.insert(account(id: "x", .verified(ada), password: true, identities: [google()]))
    return world.hold(google(), for: "x", purpose: .credentialInUse, call)
  }

  @Test func `a pending token with purpose credential_in_use signs in to the account that owns the identity`()
    async throws
  {
    let handle = inUse()
    let grant = try await world.signIn(.pendingToken(handle)).grant
    #expect(grant.account.account.id == "x" && !grant.isNewAccount)
    #expect(try world.claims(grant).signInProviderID == "google.com")
    #expect(grant.userInfo?.profileJSON == google().profileJSON)
  }

  @Test func `a pending token as the only credential is spent by its first success`() async throws {
    let handle = inUse()
    _ = try await world.signIn(.pendingToken(handle))
    #expect(
      await world.untouched { await refused(.pendingCredentialUsed) { try await world.signIn(.pendingToken(handle)) } })
  }

  @Test func `a spent pending token can be repeated only with the same idempotency key`() async throws {
    let handle = inUse()
    let first = try await world.signIn(.pendingToken(handle), world.call(key: "k")).grant
    #expect(try await world.signIn(.pendingToken(handle), world.call(key: "k")).grant.sessionID == first.sessionID)
    await refused(.pendingCredentialUsed) { try await world.signIn(.pendingToken(handle), world.call(key: "other")) }
    let unknown = world.call(caller: "spiffe://test/other", key: "k")
    await refused(.pendingCredentialMismatch) { try await world.signIn(.pendingToken(handle), unknown) }
  }

  @Test(arguments: [PendingPurpose.link, .secondFactor])
  func `only a pending token with purpose credential_in_use is a credential`(_ purpose: PendingPurpose) async throws {
    world.store.insert(account(id: "x", .verified(ada), identities: [google()]))
    let handle = world.hold(google(), for: "x", purpose: purpose)
    #expect(
      await world.untouched {
        await refused(.pendingCredentialMismatch) { try await world.signIn(.pendingToken(handle)) }
      })
  }

  @Test(arguments: [PendingPurpose.credentialInUse, .secondFactor])
  func `only a pending token with purpose link completes a sign-in`(_ purpose: PendingPurpose) async throws {
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(google(), for: "account-y", purpose: purpose)
    #expect(
      await world.untouched {
        await refused(.pendingCredentialMismatch) { try await world.signIn(rightPassword, pendingToken: handle) }
      })
  }

  @Test func `a pending token whose identity has changed its owner opens neither account`() async throws {
    let handle = inUse()
    world.store.edit { tables in
      tables.accounts["other"] = account(id: "other").account
      tables.identities[google().identity]?.accountID = "other"
    }
    await refused(.pendingCredentialMismatch) { try await world.signIn(.pendingToken(handle)) }
    #expect(world.store.contents.sessions.isEmpty)
  }

  @Test func `S10, S11 and a disabled provider apply to a pending token as to the provider's token`() async throws {
    let handle = inUse()
    var closed = world
    closed.policy.enabledProviderIDs = []
    await refused(.operationNotAllowed) { try await closed.signIn(.pendingToken(handle)) }
    world.store.edit {
      $0.factors.append(FactorRecord(id: "f", accountID: "x", kind: .totp, enrolledAt: beginning))
    }
    _ = try await world.signIn(.pendingToken(handle)).required
    world.store.edit { $0.accounts["x"]?.disabled = true }
    await refused(.userDisabled) { try await world.signIn(.pendingToken(handle)) }
    #expect(try world.row(handle)?.completedAt == nil)
  }
}
