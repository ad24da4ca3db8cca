import Store
import Testing

@testable import Identity

@Suite struct ThrottlePartsTests {
  @Test(arguments: [(0, 1), (5, 1), (1_999, 1), (2_000, 2), (30_000, 30), (32_000, 32), (100_000, 32)])
  func `a large limit has parts of at least a thousand`(countMax: Int, parts: Int) {
    #expect(ThrottleParts.count(ThrottleRule(countMax, inMillis: 1)) == parts)
  }

  @Test func `the parts together never exceed the limit, and reject a tenth only near it`() {
    let rule = ThrottleRule(30_000, inMillis: 3_600_000)
    let (count, randomness) = (ThrottleParts.count(rule), SeededRandomness(seed: 7))
    let part = rule.divided(by: count)
    var records: [Int: ThrottleRecord] = [:]
    let at = Timestamp(millis: 1)
    var (admitted, tried, rejected, tenth) = (0, 0, 0, 0)
    while tried < 60_000 {
      tried += 1
      let picked = ThrottleParts.pick(of: count, randomness)
      #expect((0..<count).contains(picked))
      if records[picked]?.block(at: at) != nil {
        rejected += 1
        continue
      }
      let key = Digest([UInt8](repeating: UInt8(picked), count: 32))
      let event = ThrottleCount(key: key, kind: .signUpsPerCaller, rule: part, at: at, refusesBlocked: true)
      records[picked] = ThrottleRecord.counting(event, after: records[picked])
      admitted += 1
      if tenth == 0, records.values.count(where: { $0.block(at: at) != nil }) >= count / 10 { tenth = admitted }
    }
    #expect(admitted == rule.countMax)
    #expect(rejected == 30_000)
    #expect(tenth > rule.countMax * 90 / 100)
  }

  @Test func `attempts of one caller use several rows, and only one of them warns of half the limit`() async throws {
    let world = World { $0.throttles[.signUpsPerCaller] = ThrottleRule(4_000, inMillis: 3_600_000) }
    let counters = (0..<200).flatMap { _ -> [ThrottleCount] in
      let throttle = world.environment.throttle(.signUps, call: world.call())
      guard let admitted = try? throttle.admit(Facts(), now: world.clock.now()) else { return [] }
      return admitted.count(at: world.clock.now()).compactMap { write in
        guard case .throttle(.count(let count)) = write, count.kind == .signUpsPerCaller else { return nil }
        return count
      }
    }
    #expect(counters.count == 200)
    #expect(Set(counters.map(\.key)).count == 4)
    #expect(Set(counters.filter(\.warnsAtHalf).map(\.key)).count == 1)
    #expect(counters.allSatisfy { $0.rule.countMax == 1_000 })
  }
}
