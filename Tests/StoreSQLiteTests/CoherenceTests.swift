import Store
import Testing

@testable import StoreSQLite

/// Every write that can change the cache, in any order, compared with a reader without a cache.
@Suite struct CoherenceTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func email(_ random: inout SystemRandomNumberGenerator) -> String {
    "person\(Int.random(in: 0..<6, using: &random))@example.com"
  }

  /// A change like that of a use case: writes to the parts of an account also raise its version.
  private func change(_ state: AccountState?, _ id: String, _ random: inout SystemRandomNumberGenerator) -> Change {
    guard let state else {
      var account = AccountRecord(id)
      account.emailAddress = Bool.random(using: &random) ? EmailAddress(email(&random)) : nil
      return Change([.account(.insert(account)), .session(.insert(session(of: id)))])
    }
    let edited = Write.account(.raise(id: id, version: state.account.version))
    let assertion = Assertion(
      identity: IdentityKey(providerID: ["google.com", "oidc.corp"].randomElement(using: &random)!, subject: id),
      email: email(&random), tier: Bool.random(using: &random) ? .verified : .unverified)
    let identity = IdentityRecord(assertion: assertion, accountID: id, linkedAt: Timestamp(millis: 0))
    let kind: FactorKind = [.phone, .totp, .recoveryCode].randomElement(using: &random)!
    let factor = FactorRecord(id: kind.rawValue, accountID: id, kind: kind, enrolledAt: Timestamp(millis: 0))
    switch Int.random(in: 0..<21, using: &random) {
    case 0: return Change([
        .account(.close(
          ClosedAccountRecord(id: id, closedAt: Timestamp(millis: 0)), version: state.account.version))])
    case 1...3: return Change([edited, .identity(.insert(identity))])
    case 4, 5: return Change([edited, .identity(.update(identity))])
    case 6, 7: return Change([edited, .identity(.delete(identity.key, accountID: id))])
    // Without the account's own version, which no promise of the store asks for.
    case 8...11:
      let isEnrolled = state.factors.contains { $0.id == factor.id }
      return Change([isEnrolled ? .factor(.delete(id: factor.id, accountID: id)) : .factor(.insert(factor))])
    case 12: return Change(state.factors.first.map { [.factor(.update(renamed($0, &random)))] } ?? [])
    case 13: return Change([.unlink(.remember(UnlinkRecord(accountID: id, key: identity.key, at: now(&random))))])
    case 14: return Change([.unlink(.forget(accountID: id, identity.key))])
    case 15: return Change([.account(.cutOff(accountID: id, at: now(&random), disabling: false))])
    case 16: return Change([.account(.touch(id: id, version: state.account.version, lastSignInAt: now(&random)))])
    default:
      var account = state.account
      account.emailAddress = Int.random(in: 0..<4, using: &random) == 0 ? nil : EmailAddress(email(&random))
      account.passwordHash = Bool.random(using: &random) ? "hash" : nil
      account.emailLink = Bool.random(using: &random)
      account.phoneNumber = Bool.random(using: &random) ? "+4915114\(id)" : nil
      return Change([.account(.update(account))])
    }
  }

  private func renamed(_ factor: FactorRecord, _ random: inout SystemRandomNumberGenerator) -> FactorRecord {
    var factor = factor
    factor.displayName = "\(Int.random(in: 0..<100, using: &random))"
    return factor
  }

  private func now(_ random: inout SystemRandomNumberGenerator) -> Timestamp {
    Timestamp(millis: .random(in: 1..<1_000_000, using: &random))
  }

  /// A session with the name of its account.
  private func session(of id: String) -> SessionRecord {
    let moment = Timestamp(millis: 0)
    return SessionRecord(
      id: id, accountID: id, caller: CallerName("c"), refreshDigest: Digest([UInt8](repeating: 0, count: 32)),
      authTime: moment, signInProviderID: "password", methods: [], audience: "a", createdAt: moment,
      idleExpiresAt: moment, expiresAt: moment)
  }

  /// The account of each session, without the last sign-in.
  private func sessionAccount(_ id: String) -> Query {
    var query = Query()
    query.sessionID = id
    query.lastSignInMayLag = true
    return query
  }

  /// The owner of each identity, without the last sign-in.
  private func owner(_ provider: String, _ id: String) -> Query {
    var query = Query()
    query.identity = IdentityKey(providerID: provider, subject: id)
    query.lastSignInMayLag = true
    return query
  }

  private func withoutLastSignIn(_ state: AccountState?) -> AccountState? {
    var state = state
    state?.account.lastSignInAt = nil
    return state
  }

  /// A confirmation, which changes nothing in any case.
  private func confirm(_ id: String, in store: SQLiteStore, as reader: Reader) async throws {
    var query = Query()
    query.accountID = id
    let version = try reader.facts(query).account?.account.version
    for said in [version ?? 1, (version ?? 1) - 1, (version ?? 1) + 1] {
      let outcome = try await store.commit(.account(.confirm(id: id, version: said)))
      #expect(outcome == (said == version ? .committed : .stale))
    }
  }

  @Test func `the caches match the file after each of a thousand changes`() async throws {
    let store = try SQLiteStore(path: folder.file)
    var random = SystemRandomNumberGenerator()
    var committed = 0
    // The id of a removed account is never used again.
    var ids = (0..<4).map { "account\($0)" }
    for _ in 0..<1000 {
      let place = Int.random(in: 0..<4, using: &random)
      let id = ids[place]
      var query = Query()
      query.accountID = id
      let facts = try await store.load(query)
      if facts.closedAccount != nil { ids[place] += "'" }
      let state = facts.account
      let outcome = try await store.commit(change(state, id, &random), commitDecision: CommitDecision())
      if outcome == .committed { committed += 1 }
      let uncached = try Reader.withoutCaches(path: folder.file)
      for number in 0..<6 {
        for linkedToo in [false, true] {
          let query = SignInMethodsQuery(email: "person\(number)@example.com", includesLinkedEmail: linkedToo)
          let found = try await store.load(query)
          #expect(try uncached.methods(query) == found)
          #expect(try await store.load(query) == found)
        }
      }
      for provider in ["google.com", "oidc.corp"] {
        for id in ids {
          let query = owner(provider, id)
          let held = withoutLastSignIn(try uncached.facts(query).identityOwner)
          for _ in 0..<2 { #expect(withoutLastSignIn(try await store.load(query).identityOwner) == held) }
          var exact = query
          exact.lastSignInMayLag = false
          #expect(try await store.load(exact).identityOwner == uncached.facts(exact).identityOwner)
        }
      }
      for id in ids {
        let query = sessionAccount(id)
        let held = withoutLastSignIn(try uncached.facts(query).sessionAccount)
        for _ in 0..<2 { #expect(withoutLastSignIn(try await store.load(query).sessionAccount) == held) }
      }
      try await confirm(id, in: store, as: uncached)
      uncached.endSnapshot()
    }
    #expect(committed > 300)
    await store.close()
  }
}
