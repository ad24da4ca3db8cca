import Store
import Testing

@testable import Identity

/// The effect of one more attempt on a row. Blocks begin at 100 ms and grow to 400 ms; a window has one second.
@Suite struct CountingTests {
  private let inARow = ThrottleRule(
    3, inMillis: 1000, blockMillis: 100, blockMillisMax: 400, countAgainMax: 2)
  private let key = FakeCryptography().sha256([1])

  private func counted(_ moments: [Int64], by rule: ThrottleRule) -> ThrottleRecord? {
    moments.reduce(nil) { record, moment in
      let count = ThrottleCount(
        key: key, kind: .passwordFailuresPerAccount, rule: rule, at: Timestamp(millis: moment), refusesBlocked: false)
      return .counting(count, after: record)
    }
  }

  @Test func `the last allowed failure in a row blocks, and no earlier one`() {
    #expect(counted([0, 1], by: inARow)?.block(at: Timestamp(millis: 1)) == nil)
    let record = counted([0, 1, 2], by: inARow)
    #expect(record?.block(at: Timestamp(millis: 101)) == Timestamp(millis: 102))
    #expect(record?.block(at: Timestamp(millis: 102)) == nil)
  }

  @Test func `after a block fewer failures bring the next, which is twice as long, up to the longest`() {
    let moments: [Int64] = [0, 0, 0, 100, 100, 300, 300, 700, 700]
    let ends = [3, 5, 7, 9].map { counted(Array(moments.prefix($0)), by: inARow)?.blockedUntil?.millis }
    #expect(ends == [100, 300, 700, 1100])
  }

  @Test func `a window without a block forgets the blocks before it`() {
    let record = counted([0, 0, 0, 1100], by: inARow)
    #expect(record == ThrottleRecord(
      key: key, count: 1, since: Timestamp(millis: 1100), expiresAt: Timestamp(millis: 2100)))
    #expect(counted([0, 0, 0, 1099], by: inARow)?.blocks == 1)
  }

  @Test func `failures that are half a window apart never block`() {
    #expect(counted([0, 500, 1000, 1500, 2000], by: inARow)?.blocks == 0)
  }

  @Test func `a rate blocks until its window ends, and the row has no effect after that`() {
    let record = counted([0, 600, 700], by: ThrottleRule(3, inMillis: 1000))
    #expect(record?.blockedUntil == Timestamp(millis: 1000))
    #expect(record?.expiresAt == Timestamp(millis: 1000))
    #expect(counted([0, 600, 700, 1000], by: ThrottleRule(3, inMillis: 1000))?.count == 1)
  }

  @Test func `an attempt that began before a block counts towards the next block and does not shorten this one`() {
    let record = counted([0, 0, 0, 50], by: inARow)
    #expect(record?.count == 1)
    #expect(record?.blockedUntil == Timestamp(millis: 100))
    #expect(counted([0, 0, 0, 50, 50], by: inARow)?.blockedUntil == Timestamp(millis: 250))
  }
}
