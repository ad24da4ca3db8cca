import Store
import Testing

@testable import StoreSQLite

@Suite struct AccountCacheTests {
  private let marks: CommitMarks
  private let cache: AccountCache
  private let key = AccountCache.Name.identity(IdentityKey(providerID: "google.com", subject: "1"))

  init() {
    marks = CommitMarks()
    cache = AccountCache(room: 64, marks: marks)
  }

  private func owner(named name: String = "", _ id: String = "ann") -> Held<AccountState> {
    var account = AccountRecord(id)
    account.displayName = name
    return Held(wrappedValue: AccountState(account: account))
  }

  @Test func `an identity that was never looked up is not known`() { #expect(cache.find(key) == nil) }

  private func identity(_ subject: String, at providerID: String = "google.com") -> AccountCache.Name {
    .identity(IdentityKey(providerID: providerID, subject: subject))
  }

  @Test func `an entry is found only by its own identity`() {
    cache.keep(owner(), of: key, asOf: marks.commit)
    #expect(cache.find(key) == owner())
    #expect(cache.find(identity("2")) == nil)
    #expect(cache.find(identity("1", at: "oidc.corp")) == nil)
    #expect(cache.find(.id("1")) == nil)
  }

  @Test func `an entry of an id is found by it, and by no identity of the same text`() {
    cache.keep(owner(), of: .id("ann"), asOf: marks.commit)
    #expect(cache.find(.id("ann")) == owner())
    #expect(cache.find(.id("bob")) == nil)
    #expect(cache.find(identity("ann")) == nil)
    marks.touch(AccountCache.hash(ofAccount: "ann"))
    #expect(cache.find(.id("ann")) == nil)
  }

  @Test func `subjects that are equivalent in Unicode belong to different accounts`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed)
    cache.keep(owner(), of: identity(composed), asOf: marks.commit)
    #expect(cache.find(identity(decomposed)) == nil)
    #expect(cache.find(identity(composed)) == owner())
  }

  @Test func `a missing identity is not cached, since no account could invalidate it`() {
    cache.keep(Held(wrappedValue: nil), of: key, asOf: marks.commit)
    #expect(cache.find(key) == nil)
  }

  @Test func `a change of the account makes it unknown before it is committed`() {
    cache.keep(owner(), of: key, asOf: marks.commit)
    marks.touch(AccountCache.hash(ofAccount: "ann"))
    #expect(cache.find(key) == nil)
    marks.advance()
    #expect(cache.find(key) == nil)
    cache.keep(owner(), of: key, asOf: marks.commit)
    #expect(cache.find(key) == owner())
  }

  @Test func `a reader with an older snapshot than the change cannot restore an old entry`() {
    let before = marks.commit
    marks.touch(AccountCache.hash(ofAccount: "ann"))
    cache.keep(owner(), of: key, asOf: before)
    #expect(cache.find(key) == nil)
    marks.advance()
    cache.keep(owner(), of: key, asOf: before)
    #expect(cache.find(key) == nil)
  }

  /// The parts of an account of any length or number, each with so many bytes.
  private static let growths: [@Sendable (inout AccountState, Int) -> Void] = [
    { $0.account.displayName = text($1) }, { $0.account.photoURL = text($1) },
    { $0.account.customClaimsJSON = text($1) }, { $0.account.passwordHash = text($1) },
    { state, bytes in
      var assertion = Assertion(identity: IdentityKey(providerID: "", subject: ""))
      assertion.username = text(bytes - AccountCache.bytesPerPiece)
      let identity = IdentityRecord(assertion: assertion, accountID: "", linkedAt: Timestamp(millis: 0))
      state.identities = [identity]
    },
    { state, bytes in
      let secret = [UInt8](repeating: 1, count: bytes - AccountCache.bytesPerPiece)
      state.factors = [
        FactorRecord(id: "", accountID: "", kind: .totp, sealedSecret: secret, enrolledAt: Timestamp(millis: 0))
      ]
    },
    { state, bytes in
      let most = bytes / AccountCache.bytesPerPiece
      state.unlinks = (1...most).map { number in
        let subject = number == 1 ? text(bytes - most * AccountCache.bytesPerPiece) : ""
        let key = IdentityKey(providerID: "", subject: subject)
        return UnlinkRecord(accountID: "", key: key, at: Timestamp(millis: 0))
      }
    },
  ]

  private static func text(_ bytes: Int) -> String { String(repeating: "n", count: bytes) }

  @Test(arguments: growths.indices) func `an account is cached up to the maximum size, and not with one byte more`(
    growth: Int
  ) {
    var state = AccountState(account: AccountRecord("ann"))
    let most = AccountCache.bytesMax - "ann".utf8.count
    Self.growths[growth](&state, most + 1)
    cache.keep(Held(wrappedValue: state), of: key, asOf: marks.commit)
    #expect(cache.find(key) == nil)
    Self.growths[growth](&state, most)
    cache.keep(Held(wrappedValue: state), of: key, asOf: marks.commit)
    #expect(cache.find(key)?.wrappedValue == state)
  }

  @Test func `the cache never keeps more entries than it has room for`() {
    for number in 0..<1000 {
      let key = identity("\(number)")
      cache.keep(owner(), of: key, asOf: marks.commit)
      #expect(cache.find(key) == owner())
    }
    let kept = (0..<1000).filter { cache.find(identity("\($0)")) != nil }
    #expect((1...64).contains(kept.count))
  }

  @Test func `a cache without room keeps nothing`() {
    let cache = AccountCache(room: 0, marks: marks)
    cache.keep(owner(), of: key, asOf: marks.commit)
    #expect(cache.find(key) == nil)
  }
}
