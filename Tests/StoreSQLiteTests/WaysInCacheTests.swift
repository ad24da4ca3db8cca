import Store
import Testing

@testable import StoreSQLite

@Suite struct WaysInCacheTests {
  private let cache = WaysInCache(accounts: 100, bytesMax: 1 << 20)
  private let key = WaysInCache.Key("ann@example.com", linkedToo: true)
  private let record = WaysInRecord(hasPassword: true, emailProved: true, providerIDs: ["google.com", "oidc.corp"])

  private func find(_ key: WaysInCache.Key) -> WaysInRecord?? { cache.find(key, ProviderNames(cache)) }

  private func keep(_ record: WaysInRecord?, asOf commit: UInt64? = nil) {
    cache.keep(record, key, asOf: commit ?? cache.commit, ProviderNames(cache))
  }

  @Test func `an address that was never looked up is not known`() { #expect(find(key) == .none) }

  @Test func `what was kept is found, providers in their order, by every reader`() {
    for flags in 0..<32 {
      for providerIDs in [[], ["a"], ["b", "a"], ["a", "b", "a"], (0..<8).map { "p\($0)" }] {
        let record = WaysInRecord(
          hasPassword: flags & 1 != 0, emailLink: flags & 2 != 0, emailProved: flags & 4 != 0,
          hasPhoneNumber: flags & 8 != 0, hasOnlyPhoneFactors: flags & 16 != 0, providerIDs: providerIDs)
        keep(record)
        #expect(find(key) == .some(record))
      }
    }
  }

  @Test func `that nobody owns an address is known too`() {
    keep(nil)
    #expect(find(key) == .some(nil))
  }

  @Test func `what does not fit into an entry is not kept`() {
    keep(WaysInRecord(providerIDs: (0..<9).map { "p\($0)" }))
    #expect(find(key) == .none)
  }

  @Test func `more providers than a byte can count are looked up each time`() {
    for number in 0..<255 { keep(WaysInRecord(providerIDs: ["p\(number)"])) }
    #expect(find(key) == .some(WaysInRecord(providerIDs: ["p254"])))
    keep(WaysInRecord(providerIDs: ["one more"]))
    #expect(find(key) == .some(WaysInRecord(providerIDs: ["p254"])))
  }

  @Test func `an address is one question with linked addresses and another without`() {
    keep(record)
    #expect(find(WaysInCache.Key("ann@example.com", linkedToo: false)) == .none)
    #expect(find(WaysInCache.Key("ann@example.org", linkedToo: true)) == .none)
  }

  @Test func `a change of the address makes its entry unknown before it is committed`() {
    keep(record)
    cache.mark("ann@example.com")
    #expect(find(key) == .none)
    cache.advance()
    #expect(find(key) == .none)
  }

  @Test func `a reader whose snapshot is older than the change cannot bring back what it saw`() {
    let before = cache.commit
    cache.mark("ann@example.com")
    keep(record, asOf: before)
    #expect(find(key) == .none)
    cache.advance()
    keep(record, asOf: before)
    #expect(find(key) == .none)
    keep(nil, asOf: cache.commit)
    #expect(find(key) == .some(nil))
  }

  @Test func `a cache of one entry forgets one address for the next`() {
    let cache = WaysInCache(accounts: 1_000_000, bytesMax: WaysInCache.entryBytes)
    let names = ProviderNames(cache)
    for number in 0..<20 {
      let key = WaysInCache.Key("person\(number)@example.com", linkedToo: false)
      #expect(cache.find(key, names) == .none)
      cache.keep(record, key, asOf: cache.commit, names)
      #expect(cache.find(key, names) == .some(record))
    }
  }
}

/// Every write that can change how an address signs in, in any order, against a reader without a cache.
@Suite struct WaysInCoherenceTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func email(_ random: inout SystemRandomNumberGenerator) -> String {
    "person\(Int.random(in: 0..<6, using: &random))@example.com"
  }

  /// A change as a use case would make it: what hangs on an account is written with its version raised.
  private func change(_ state: AccountState?, _ id: String, _ random: inout SystemRandomNumberGenerator) -> Change {
    guard let state else {
      var account = AccountRecord(id)
      account.email = Bool.random(using: &random) ? email(&random) : nil
      return Change([.insertAccount(account)])
    }
    let edited = Write.guardAccount(id: id, version: state.account.version)
    let assertion = Assertion(
      identity: IdentityKey(providerID: ["google.com", "oidc.corp"].randomElement(using: &random)!, subject: id),
      email: email(&random), tier: Bool.random(using: &random) ? .verified : .unverified)
    let identity = IdentityRecord(assertion: assertion, accountID: id, linkedAt: Timestamp(millis: 0))
    let kind: FactorKind = [.phone, .totp, .recoveryCode].randomElement(using: &random)!
    let factor = FactorRecord(id: kind.rawValue, accountID: id, kind: kind, enrolledAt: Timestamp(millis: 0))
    switch Int.random(in: 0..<16, using: &random) {
    case 0: return Change([
        .closeAccount(
          ClosedAccountRecord(id: id, closedAt: Timestamp(millis: 0)), version: state.account.version)])
    case 1...3: return Change([edited, .insertIdentity(identity)])
    case 4, 5: return Change([edited, .updateIdentity(identity)])
    case 6, 7: return Change([edited, .deleteIdentity(identity.key, accountID: id)])
    // Without the account's own version, which no promise of the store asks for.
    case 8...11:
      let isEnrolled = state.factors.contains { $0.id == factor.id }
      return Change([isEnrolled ? .deleteFactor(id: factor.id, accountID: id) : .insertFactor(factor)])
    default:
      var account = state.account
      account.email = Int.random(in: 0..<4, using: &random) == 0 ? nil : email(&random)
      account.passwordHash = Bool.random(using: &random) ? "hash" : nil
      account.emailLink = Bool.random(using: &random)
      account.phoneNumber = Bool.random(using: &random) ? "+4915114\(id)" : nil
      return Change([.updateAccount(account)])
    }
  }

  @Test func `what the cache tells is what the file holds, after each of a thousand changes`() async throws {
    let store = try SQLiteStore(path: folder.file)
    var random = SystemRandomNumberGenerator()
    var committed = 0
    // The id of an account that was removed is never given again.
    var ids = (0..<4).map { "account\($0)" }
    for _ in 0..<1000 {
      let place = Int.random(in: 0..<4, using: &random)
      let id = ids[place]
      var query = Query()
      query.accountID = id
      let facts = try await store.load(query)
      if facts.closedAccount != nil { ids[place] += "'" }
      let state = facts.account
      let outcome = try await store.commit(change(state, id, &random), fate: Fate())
      if outcome == .committed { committed += 1 }
      let uncached = try Reader(
        path: folder.file, options: Options(), cache: WaysInCache(accounts: 0, bytesMax: 0))
      for number in 0..<6 {
        for linkedToo in [false, true] {
          var query = Query()
          query.waysIn = "person\(number)@example.com"
          query.includesLinkedEmail = linkedToo
          let found = try await store.load(query).waysIn
          #expect(try uncached.facts(query).waysIn == found)
          #expect(try await store.load(query).waysIn == found)
        }
      }
      uncached.endSnapshot()
    }
    #expect(committed > 300)
    await store.close()
  }
}
