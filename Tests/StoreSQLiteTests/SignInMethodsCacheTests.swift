import Store
import Testing

@testable import StoreSQLite

@Suite struct SignInMethodsCacheTests {
  private let marks: CommitMarks
  private let cache: SignInMethodsCache
  private let key = SignInMethodsCache.Key(
    SignInMethodsQuery(email: "ann@example.com", includesLinkedEmail: true))
  private let record = SignInMethodsRecord(
    hasPassword: true, emailVerified: true, providerIDs: ["google.com", "oidc.corp"])

  init() {
    marks = CommitMarks()
    cache = SignInMethodsCache(accounts: 100, bytesMax: 1 << 20, marks: marks)
  }

  private func find(_ key: SignInMethodsCache.Key) -> SignInMethodsRecord?? { cache.find(key, ProviderNames(cache)) }

  private func keep(_ record: SignInMethodsRecord?, asOf commit: UInt64? = nil) {
    cache.keep(record, key, asOf: commit ?? marks.commit, ProviderNames(cache))
  }

  @Test func `an address that was never looked up is not known`() { #expect(find(key) == .none) }

  @Test func `every reader finds an entry, with providers in their order`() {
    for flags in 0..<32 {
      for providerIDs in [[], ["a"], ["b", "a"], ["a", "b", "a"], (0..<8).map { "p\($0)" }] {
        let record = SignInMethodsRecord(
          hasPassword: flags & 1 != 0, emailLink: flags & 2 != 0, emailVerified: flags & 4 != 0,
          hasPhoneNumber: flags & 8 != 0, hasOnlyPhoneFactors: flags & 16 != 0, providerIDs: providerIDs)
        keep(record)
        #expect(find(key) == .some(record))
      }
    }
  }

  @Test func `an address without an owner is cached too`() {
    keep(nil)
    #expect(find(key) == .some(nil))
  }

  @Test func `a value that does not fit into an entry is not cached`() {
    keep(SignInMethodsRecord(providerIDs: (0..<9).map { "p\($0)" }))
    #expect(find(key) == .none)
  }

  @Test func `more providers than a byte can count are looked up each time`() {
    for number in 0..<255 { keep(SignInMethodsRecord(providerIDs: ["p\(number)"])) }
    #expect(find(key) == .some(SignInMethodsRecord(providerIDs: ["p254"])))
    keep(SignInMethodsRecord(providerIDs: ["one more"]))
    #expect(find(key) == .some(SignInMethodsRecord(providerIDs: ["p254"])))
  }

  @Test func `an address has separate entries with and without linked addresses`() {
    keep(record)
    #expect(find(SignInMethodsCache.Key(SignInMethodsQuery(email: "ann@example.com"))) == .none)
    let other = SignInMethodsQuery(email: "ann@example.org", includesLinkedEmail: true)
    #expect(find(SignInMethodsCache.Key(other)) == .none)
  }

  @Test func `a change of the address makes its entry unknown before it is committed`() {
    keep(record)
    cache.mark("ann@example.com")
    #expect(find(key) == .none)
    marks.advance()
    #expect(find(key) == .none)
  }

  @Test func `a reader with an older snapshot than the change cannot restore old methods`() {
    let before = marks.commit
    cache.mark("ann@example.com")
    keep(record, asOf: before)
    #expect(find(key) == .none)
    marks.advance()
    keep(record, asOf: before)
    #expect(find(key) == .none)
    keep(nil, asOf: marks.commit)
    #expect(find(key) == .some(nil))
  }

  @Test func `a cache of one entry replaces one address with the next`() {
    let cache = SignInMethodsCache(accounts: 1_000_000, bytesMax: SignInMethodsCache.entryBytes, marks: marks)
    let names = ProviderNames(cache)
    for number in 0..<20 {
      let key = SignInMethodsCache.Key(SignInMethodsQuery(email: "person\(number)@example.com"))
      #expect(cache.find(key, names) == .none)
      cache.keep(record, key, asOf: marks.commit, names)
      #expect(cache.find(key, names) == .some(record))
    }
  }
}
