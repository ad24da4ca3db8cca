import Store
import Testing

@testable import Delivery

@Suite struct ScheduleTests {
  private let now = Timestamp(millis: 1_700_000_000_000)
  private var schedule: Schedule {
    var schedule = Schedule()
    schedule.firstPauseMillis = 20_000
    schedule.pauseMaxMillis = 100_000
    schedule.attemptsMax = 3
    return schedule
  }

  private func record(attempts: Int = 0, lifeMillis: Int64 = 600_000) -> DeliveryRecord {
    var record = DeliveryRecord(
      id: "a", channel: .mail, kind: "linked", sealed: [], createdAt: now, expiresAt: now.adding(millis: lifeMillis))
    record.attempts = attempts
    return record
  }

  private func next(_ verdict: Verdict, attempts: Int = 1, pauseMillis: Int64 = 20_000, lifeMillis: Int64 = 600_000)
    -> Schedule.Next
  {
    schedule.next(
      verdict, attempts: attempts, nextAttemptAt: now.adding(millis: pauseMillis),
      expiresAt: now.adding(millis: lifeMillis))
  }

  @Test func `the pause doubles with every attempt, up to its maximum`() {
    for (attempts, millis) in [(0, 20_000), (1, 40_000), (2, 80_000), (3, 100_000), (500, 100_000)] {
      #expect(schedule.pauseMillis(attempts: attempts, chance: 0) == Int64(millis))
    }
  }

  @Test func `chance makes a pause longer by a quarter at most, and never shorter`() {
    #expect(schedule.pauseMillis(attempts: 0, chance: 255) == 25_000)
    #expect(schedule.pauseMillis(attempts: 0, chance: 128) > 20_000)
  }

  @Test func `a message is tried until it expires or has had all its attempts`() {
    let claim = Schedule.Start.attempt(nextAttemptAt: now.adding(millis: 20_000))
    #expect(schedule.start(record(), now: now, chance: 0) == claim)
    #expect(schedule.start(record(lifeMillis: 1), now: now, chance: 0) == claim)
    #expect(schedule.start(record(lifeMillis: 0), now: now, chance: 0) == .bury(reason: "expired"))
    #expect(
      schedule.start(record(attempts: 2), now: now, chance: 0)
        == .attempt(nextAttemptAt: now.adding(millis: 80_000)))
    #expect(
      schedule.start(record(attempts: 3), now: now, chance: 0) == .bury(reason: "attempts: 3 were made"))
  }

  @Test func `what was delivered goes, and what was refused is buried at once`() {
    #expect(next(.delivered) == .remove)
    #expect(next(.delivered, attempts: 3, lifeMillis: 0) == .remove)
    #expect(next(.refused("smtp 550")) == .bury(reason: "refused: smtp 550"))
  }

  @Test func `what failed waits for its next attempt, where there is one in time`() {
    #expect(next(.failed("smtp 451")) == .wait)
    #expect(next(.failed("smtp 451"), attempts: 2) == .wait)
    #expect(next(.failed("smtp 451"), attempts: 3) == .bury(reason: "attempts: smtp 451"))
    #expect(next(.failed("smtp 451"), pauseMillis: 599_999) == .wait)
    #expect(next(.failed("smtp 451"), pauseMillis: 600_000) == .bury(reason: "expired: smtp 451"))
  }

  @Test(arguments: [(16, 8), (15, 8), (1, 1)])
  func `each of two channels has half of the places, however many the other one takes`(places: Int, half: Int) {
    var schedule = schedule
    schedule.concurrentMax = places
    #expect(schedule.room(underWay: [:], roads: 2) == [.mail: half, .textMessage: half])
    #expect(schedule.room(underWay: [.mail: half], roads: 2) == [.mail: 0, .textMessage: half])
    #expect(schedule.room(underWay: [.mail: 99], roads: 2) == [.mail: 0, .textMessage: half])
  }

  @Test func `a channel that is alone has all places`() {
    #expect(schedule.room(underWay: [.mail: 6], roads: 1)[.mail] == 10)
    #expect(schedule.room(underWay: [:], roads: 0)[.mail] == 16)
  }
}
