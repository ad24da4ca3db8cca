import Store
import Testing

@testable import Identity

/// Section 12: how many wrong codes an attacker can try at one address, with any number of codes and networks.
@Suite struct `The guesses of codes` {
  private static let day: Int64 = 86_400_000
  private let rule = Policy().throttles[.codeFailuresPerAccount]
  private let key = FakeCryptography().sha256([1])

  private func counted(_ record: ThrottleRecord?, at moment: Int64) -> ThrottleRecord {
    let count = ThrottleCount(
      key: key, kind: .codeFailuresPerAccount, rule: rule, at: Timestamp(millis: moment), refusesBlocked: false)
    return .counting(count, after: record)
  }

  /// The times of all guesses of an attacker who tries whenever the address is not blocked.
  ///
  /// - Parameters:
  ///   - blocksMax: after so many blocks, the attacker waits until they are forgotten. nil: never.
  ///   - early: guesses at the end of the first window that precede the others.
  private func guesses(days: Int64, blocksMax: Int? = nil, early: Int = 0) -> [Int64] {
    var (record, now, times) = (ThrottleRecord?.none, Int64(0), [Int64]())
    for number in 0..<early {
      now = number == 0 ? 0 : Self.day - 1
      record = counted(record, at: now)
      times.append(now)
    }
    if early > 0 { now = Self.day }
    while now < days * Self.day {
      if let known = record, let until = known.block(at: Timestamp(millis: now)) {
        now = known.blocks == blocksMax ? known.expiresAt.millis : until.millis
        continue
      }
      record = counted(record, at: now)
      times.append(now)
    }
    return times
  }

  @Test func `an attacker without pauses has 90 guesses in the first day, then 10 in each`() {
    let times = guesses(days: 5)
    #expect((0..<5).map { day in times.count { $0 / Self.day == day } } == [90, 10, 10, 10, 10])
  }

  @Test func `no pauses allow more than 53 guesses a day in the long run`() {
    for blocksMax in 1...9 {
      #expect(guesses(days: 4_000, blocksMax: blocksMax).count <= 53 * 4_000, "\(blocksMax) blocks")
    }
  }

  @Test func `no 24 hours have more than 120 guesses`() {
    let patterns = (1...9).map { guesses(days: 20, blocksMax: $0) } + (1..<30).map { guesses(days: 5, early: $0) }
    for times in patterns {
      let most = times.map { end in times.count { end - Self.day < $0 && $0 <= end } }.max() ?? 0
      #expect(most <= 120)
    }
  }
}
