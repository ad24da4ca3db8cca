import Store
import Testing

@testable import Identity

private let id = MasterKeyID(text: "1a2b3c4d")
private let day: Int64 = 86_400_000

/// The state of a key, by what is known about it.
@Suite struct `Master keys, all states` {
  private let now = beginning

  private func decide(
    position: Int? = 1, sealedAgo: Int64? = nil, rows: Int = 0, refreshTokens: RefreshTokenAges = RefreshTokenAges(),
    policy edit: (inout Policy) -> Void = { _ in }
  ) -> MasterKeyStatus {
    let record = MasterKeyRecord(
      id: id.text, knownAt: now.adding(millis: -9 * day), seenAt: now,
      sealedAt: sealedAgo.map { now.adding(millis: -$0) })
    var facts = MasterKeyStatus.Facts(id: id, position: position, record: record)
    if rows > 0 { facts.rows = [.factors: rows] }
    facts.refreshTokens = refreshTokens
    var policy = Policy()
    edit(&policy)
    return MasterKeyStatus.decide(facts, policy, now: now)
  }

  @Test func `the first key of this server seals, whatever depends on it`() {
    for rows in [0, 1] { #expect(decide(position: 0, sealedAgo: 0, rows: rows).state == .seals) }
    #expect(decide(position: 0, sealedAgo: 0).neededUntil == nil)
  }

  @Test func `a key that another server confirmed as its first within a minute seals elsewhere`() {
    for ago in [0, MasterKeyTimes.quietMillis - 1] {
      #expect(decide(sealedAgo: ago, rows: 1).state == .sealsElsewhere)
      #expect(decide(sealedAgo: ago).state == .sealsElsewhere)
    }
    #expect(decide(sealedAgo: MasterKeyTimes.quietMillis, rows: 1).state == .opens)
  }

  @Test func `a key that never sealed is unused, unless rows are sealed under it`() {
    #expect(decide().state == .unused)
    #expect(decide(rows: 1).state == .opens, "a restored database does not know all confirmations")
  }

  @Test func `a key that this server does not have is missing while rows need it`() {
    #expect(decide(position: nil, sealedAgo: 9 * day, rows: 1).state == .missing)
    #expect(decide(position: nil, sealedAgo: 0).state == .removed)
  }

  @Test func `a key ages out for the longest of throttles, idempotency records and pending rows`() throws {
    // 30 days of wrong passwords, and one day of a block.
    #expect(Policy().keyedDigestMillisMax == 31 * day)
    let ended = 31 * day + MasterKeyTimes.uncertainMillis
    let last = decide(sealedAgo: ended - 1)
    #expect(last.state == .agesOut && last.neededUntil == now.adding(millis: 1))
    let over = decide(sealedAgo: ended)
    #expect(over.state == .removable && over.neededUntil == now)
    func short(_ policy: inout Policy) {
      for kind in ThrottleKind.allCases { policy.throttles[kind] = ThrottleRule(5, inMillis: 1_000) }
    }
    let records = decide(sealedAgo: day + MasterKeyTimes.uncertainMillis - 1, policy: short)
    #expect(records.neededUntil == now.adding(millis: 1))
    let pendings = decide(sealedAgo: 2 * MasterKeyTimes.quietMillis) {
      short(&$0)
      ($0.idempotencyLifetimeMillis, $0.pendingLifetimeMillis) = (1_000, 600_000)
    }
    #expect(pendings.neededUntil == pendings.record?.sealedAt?.adding(millis: 600_000 + MasterKeyTimes.uncertainMillis))
  }

  @Test func `a throttle that is off delays nothing`() {
    var policy = Policy()
    for kind in ThrottleKind.allCases { policy.throttles[kind].countMax = 0 }
    #expect(policy.keyedDigestMillisMax == policy.idempotencyLifetimeMillis)
  }

  @Test func `open sessions with an older refresh token delay the removal until the last of them ends`() {
    let end = now.adding(millis: 5 * day)
    let ages = RefreshTokenAges(count: 3, lastEnd: end)
    let status = decide(sealedAgo: 60 * day, refreshTokens: ages)
    #expect(status.state == .agesOut && status.neededUntil == end && status.refreshTokens == 3)
    #expect(decide(sealedAgo: 60 * day).state == .removable)
  }

  @Test func `rows come first: while one is sealed under the key, there is no time`() {
    let status = decide(sealedAgo: 60 * day, rows: 1, refreshTokens: RefreshTokenAges(count: 1, lastEnd: now))
    #expect(status.state == .opens && status.neededUntil == nil && status.rowCount == 1 && status.refreshTokens == 1)
  }
}
