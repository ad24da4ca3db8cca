import Encodings
import Store
import Testing

@testable import Identity

struct `An identity that an administrator links` {
  let world = World.sending()

  private func link(
    _ key: IdentityKey, email: String? = nil
  ) async throws -> (state: AccountState, alreadyLinked: Bool) {
    let identity = ImportRow.Identity(key: key, email: email, displayName: "Ada", photoURL: "")
    return try await LinkIdentity(world.environment)(identity, accountID: "account-y", world.call())
  }

  @Test func `it signs in, verifies no address, and a repeat changes nothing`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let (state, alreadyLinked) = try await link(google().identity, email: ada)
    #expect(!alreadyLinked && state == world.store.state("account-y") && !state.account.emailVerified)
    #expect(state.identities.map(\.tier) == [.unverified] && state.account.displayName.isEmpty)
    let rows = world.store.contents.audit.map(\.detailsJSON)
    #expect(rows == [#"{"by":"administrator","provider_id":"google.com"}"#])
    let before = world.store.contents
    #expect(try await link(google().identity).alreadyLinked && world.store.contents == before)
    let grant = try await world.signIn(google()).grant
    #expect(grant.account.account.id == "account-y" && !grant.isNewAccount)
  }

  @Test func `identities of other accounts and a second one of the provider are conflicts`() async throws {
    world.store.insert(account(identities: [google("g-1")]))
    world.store.insert(account(id: "account-z", identities: [corp()]))
    let before = world.store.contents
    let taken = await refused(.providerAlreadyLinked) { try await link(corp().identity) }
    #expect(taken?.field == "subject" && taken?.metadata["account_id"] == "account-z")
    #expect(await refused(.providerAlreadyLinked) { try await link(google("g-2").identity) }?.field == "provider_id")
    #expect(world.store.contents == before)
  }

  @Test func `an anonymous account becomes permanent, and an earlier unlink is forgotten`() async throws {
    var state = account(anonymous: true)
    state.unlinks = [UnlinkRecord(accountID: "account-y", key: google().identity, at: beginning)]
    world.store.insert(state)
    let guest = try world.session(of: "account-y", by: .anonymous)
    let linked = try await link(google().identity).state
    #expect(!linked.account.anonymous && linked.unlinks.isEmpty)
    #expect(world.store.contents.sessions[guest.sessionID]?.closed?.reason == .becamePermanent)
  }
}

struct `Second factors that an administrator sets` {
  let world = World.sending()
  private let secret = [UInt8](repeating: 7, count: 20)

  @discardableResult
  private func set(_ factors: [FactorSetting]) async throws -> AccountState {
    try await SetSecondFactors(world.environment)(accountID: "account-y", factors, world.call())
  }

  @Test func `a phone and an authenticator app are enrolled, notified, and required from then on`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    let state = try await set([
      FactorSetting(displayName: "Work", proof: .phoneNumber(number)), FactorSetting(proof: .totp(secret: secret)),
    ])
    #expect(state == world.store.state("account-y") && state.factors.map(\.kind) == [.phone, .totp])
    #expect(world.store.contents.sessions[session.sessionID]?.closed?.reason == .factorEnrolled)
    #expect(world.store.contents.events(of: "account-y") == ["FACTOR_ENROLLED", "FACTOR_ENROLLED"])
    #expect(world.store.contents.audit.allSatisfy { $0.detailsJSON.contains(#""by":"administrator""#) })
    #expect(world.store.contents.deliveries.count == 2)
    let required = try await world.signIn(rightPassword).required
    #expect(required.factors.count == 2)
    #expect(world.environment.secret(of: state.factors[1]) == .totp(secret: secret, lastStep: nil))
  }

  @Test func `a repeat with the ids changes nothing, and a name alone ends no session`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let settings = [
      FactorSetting(id: "p", proof: .phoneNumber(number)), FactorSetting(id: "t", proof: .totp(secret: secret)),
    ]
    let first = try await set(settings)
    let before = world.store.contents
    #expect(try await set(settings) == first && world.store.contents == before)
    #expect(try await set([FactorSetting(id: "p"), FactorSetting(id: "t")]) == first)
    let session = try world.session(of: "account-y")
    let renamed = try await set([FactorSetting(id: "p", displayName: "Home"), FactorSetting(id: "t")])
    #expect(renamed.factors.map(\.displayName) == ["Home", ""])
    #expect(world.store.contents.sessions[session.sessionID]?.closed == nil)
  }

  @Test func `an authenticator app with the same secret stays without its id, and no session ends`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let other = [UInt8](repeating: 9, count: 20)
    let apps = [FactorSetting(proof: .totp(secret: secret)), FactorSetting(proof: .totp(secret: other))]
    let first = try await set(apps)
    _ = try world.session(of: "account-y")
    let before = world.store.contents
    #expect(try await set(apps) == first && world.store.contents == before)
    let named = FactorSetting(id: first.factors[0].id)
    #expect(try await set([apps[1], named]) == first && world.store.contents == before)
    // A setting keeps no app that another one names, so this one is a second app with the same secret.
    let twice = try await set([apps[0], named])
    #expect(twice.factors.count == 2 && twice.factors[0] == first.factors[0])
    let settled = world.store.contents
    #expect(try await set([apps[0], apps[0]]) == twice && world.store.contents == settled)
  }

  @Test func `a factor that is not listed goes, and recovery codes go with the last one`() async throws {
    world.insertPerson([.totp, .phone, .recoveryCode])
    let kept = try await set([FactorSetting(id: "factor-totp")])
    #expect(kept.factors.map(\.kind) == [.totp, .recoveryCode])
    #expect(world.store.contents.events(of: "account-y") == ["FACTOR_WITHDRAWN"])
    #expect(try await set([]).factors.isEmpty)
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `conditions of an enrollment hold, and nothing is written`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    await refused(.unverifiedEmail) { try await set([FactorSetting(proof: .totp(secret: secret))]) }
    world.store.insert(account(.verified(ada), phone: number))
    await refused(.lastSignInMethod) { try await set([FactorSetting(proof: .phoneNumber("+15550199"))]) }
    world.store.insert(account(.verified(ada), password: true))
    let before = world.store.contents
    await refused(.secondFactorNotFound) { try await set([FactorSetting(id: "unknown")]) }
    let six = (0..<6).map { FactorSetting(proof: .phoneNumber("+1555010\($0)")) }
    await refused(.secondFactorLimit) { try await set(six) }
    await refused(.secondFactorExists) { try await set([six[0], six[0]]) }
    #expect(try await set(Array(six.prefix(5))).factors.count == 5)
    #expect(before != world.store.contents)
    world.store.insert(account(anonymous: true))
    await refused(.unsupportedFirstFactor) { try await set([FactorSetting(proof: .totp(secret: secret))]) }
  }
}

struct `A link that an administrator creates` {
  let world = World.sending()
  private let app = LinkCaller(name: CallerName("spiffe://test/app"), redirectURIs: [page])

  private func code(
    _ mode: CreateEmailLinkRequest.Mode, _ email: String = ada, id: String = ""
  ) async throws -> String {
    let request = CreateEmailLinkRequest(mode: mode, email: email, accountID: id, continueURI: page)
    let sent = world.store.contents.deliveries.count
    let created = try await CreateEmailLink(world.environment)(request, for: app, world.call(caller: "support"))
    #expect(created.link.hasPrefix(page + "?mode=\(mode.rawValue)&code="))
    #expect(created.expiresAt > world.now && world.store.contents.deliveries.count == sent)
    let last = try #require(created.link.split(separator: "code=").last)
    return String(try #require(last.split(separator: "&").first))
  }

  @Test func `a sign-in link opens an account in any browser of the other caller, once`() async throws {
    let code = try await code(.signIn)
    let credential = Credential.emailLink(email: ada, code: code)
    await refused(.invalidCode) { try await world.signIn(credential, world.call(caller: "support")) }
    let grant = try await world.signIn(credential, world.call(binding: "browser")).grant
    #expect(grant.isNewAccount && grant.account.account.emailVerified)
    await refused(.expiredCode) { try await world.signIn(credential, world.call(binding: "browser")) }
    let row = try #require(world.store.contents.audit.first)
    #expect(row.event == "EMAIL_LINK_CREATED" && row.caller == CallerName("support"))
    #expect(!row.detailsJSON.contains(code) && row.detailsJSON.contains(#""for_caller":"spiffe://test/app""#))
  }

  @Test func `a reset, a verification and a change work as the emailed ones do`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    _ = try await world.reset(try await code(.resetPassword))
    let grant = try await world.signIn(.password(email: ada, password: "battery staple")).grant
    let changing = try await code(.changeEmail, "new@example.com", id: "account-y")
    #expect(try await world.confirm(changing, grant).email == "new@example.com")
    world.store.insert(account(id: "account-z", .unverified("z@example.com"), password: true))
    let session = try world.session(of: "account-z")
    let verifying = try await code(.verifyEmail, "z@example.com")
    #expect(try await world.confirm(verifying, session).email == "z@example.com")
  }

  @Test func `it needs an account, a page of the redeeming caller, and an enabled method`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let before = world.store.contents
    await refused(.accountNotFound) { try await code(.resetPassword, "nobody@example.com") }
    await refused(.accountNotFound) { try await code(.verifyEmail, "nobody@example.com") }
    await refused(.accountNotFound) { try await code(.changeEmail, "new@example.com", id: "nobody") }
    await refused(.invalidField) { try await code(.changeEmail, ada, id: "account-y") }
    let request = CreateEmailLinkRequest(mode: .signIn, email: ada, continueURI: "https://evil.example/")
    await refused(.redirectURINotAllowed) {
      try await CreateEmailLink(world.environment)(request, for: app, world.call())
    }
    let disabled = World()
    await refused(.operationNotAllowed) {
      try await CreateEmailLink(disabled.environment)(request, for: app, disabled.call())
    }
    #expect(world.store.contents == before)
  }
}

struct `A batch of accounts` {
  let world = World()

  private func run(_ action: AccountBatch.Action, _ ids: [String]) async throws -> [AccountBatch.Verdict] {
    try await AccountBatch(world.environment, action, world.call())(ids)
  }

  private func insert(_ count: Int) -> [String] {
    let ids = (0..<count).map { "account-\($0)" }
    for id in ids { world.store.insert(account(id: id)) }
    return ids
  }

  @Test(arguments: [1, 50, 51, 120])
  func `all rows are changed, in portions, and a repeat finds them gone`(count: Int) async throws {
    let ids = insert(count)
    #expect(try await run(.erase, ids) == Array(repeating: .done, count: count))
    #expect(world.store.contents.accounts.isEmpty && world.store.contents.audit.count == count)
    for verdict in try await run(.erase, ids) {
      guard case .refused(let failure) = verdict else { return #expect(Bool(false)) }
      #expect(failure.reason == .accountNotFound)
    }
  }

  @Test func `a wrong row and a repeated one do not affect the others`() async throws {
    let ids = insert(3)
    let verdicts = try await run(.setDisabled(true), [ids[0], "nobody", ids[1], ids[0], ids[2]])
    #expect(verdicts.map { $0 == .done } == [true, false, true, true, true])
    #expect(world.store.contents.events(of: ids[0]) == ["DISABLED"])
    #expect(try await run(.setDisabled(true), ids) == Array(repeating: .unchanged, count: 3))
    #expect(try await run(.setDisabled(false), ids) == Array(repeating: .done, count: 3))
  }

  @Test func `a row that loses a race is changed alone, and each row has its own verdict`() async throws {
    let ids = insert(3)
    let environment = world.environment { store in
      store.edit { $0.accounts[ids[1]] = nil }
    }
    let verdicts = try await AccountBatch(environment, .erase, world.call())(ids)
    #expect(verdicts[0] == .done && verdicts[2] == .done)
    guard case .refused(let failure) = verdicts[1] else { return #expect(Bool(false)) }
    #expect(failure.reason == .accountNotFound && world.store.contents.accounts.isEmpty)
  }

  @Test func `a cancelled call begins no further change`() async throws {
    let ids = insert(2)
    let decision = CommitDecision()
    _ = decision.cancel()
    await refused(.cancelled) {
      try await AccountBatch(world.environment, .erase, world.call(commitDecision: decision))(ids)
    }
    #expect(world.store.contents.accounts.count == 2)
  }
}
