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

  @Test func `jitter makes a pause longer by a quarter at most, and never shorter`() {
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

  @Test func `a delivered message is removed, and a rejected one is buried immediately`() {
    #expect(next(.delivered) == .remove)
    #expect(next(.delivered, attempts: 3, lifeMillis: 0) == .remove)
    #expect(next(.refused("smtp 550")) == .bury(reason: "refused: smtp 550"))
  }

  @Test func `a failed message waits for its next attempt, if there is one before it expires`() {
    #expect(next(.failed("smtp 451")) == .wait)
    #expect(next(.failed("smtp 451"), attempts: 2) == .wait)
    #expect(next(.failed("smtp 451"), attempts: 3) == .bury(reason: "attempts: smtp 451"))
    #expect(next(.failed("smtp 451"), pauseMillis: 599_999) == .wait)
    #expect(next(.failed("smtp 451"), pauseMillis: 600_000) == .bury(reason: "expired: smtp 451"))
  }

  private func free(_ schedule: Schedule, _ underWay: [DeliveryClass: Int], transports: Int) -> [DeliveryChannel: Int] {
    let room = schedule.room(underWay: underWay, transports: transports)
    return [.mail: room[mailCodes] ?? -1, .textMessage: room[DeliveryClass(.textMessage, .code)] ?? -1]
  }

  private let mailCodes = DeliveryClass(.mail, .code)
  private let mailNotices = DeliveryClass(.mail, .notice)

  @Test(arguments: [(16, 8), (15, 8), (1, 1)])
  func `each of two channels has half of the places, however many messages the other has`(places: Int, half: Int) {
    var schedule = schedule
    schedule.concurrentMax = places
    #expect(free(schedule, [:], transports: 2) == [.mail: half, .textMessage: half])
    #expect(free(schedule, [mailCodes: half], transports: 2) == [.mail: 0, .textMessage: half])
    #expect(free(schedule, [mailCodes: 99], transports: 2) == [.mail: 0, .textMessage: half])
  }

  @Test func `a single channel has all places`() {
    #expect(free(schedule, [mailCodes: 6], transports: 1)[.mail] == 10)
    #expect(free(schedule, [:], transports: 0)[.mail] == 16)
  }

  @Test func `a transport that needs threads has its own limit, for emails only`() {
    var schedule = schedule
    (schedule.concurrentMax, schedule.mailsMax) = (200, 64)
    #expect(schedule.places(.mail, transports: 2) == 64 && schedule.places(.textMessage, transports: 2) == 100)
  }

  @Test(arguments: [
    (16, 0, 0, 16, 8), (16, 0, 8, 8, 0), (16, 0, 7, 9, 1), (16, 12, 0, 4, 4), (16, 12, 4, 0, 0), (16, 16, 0, 0, 0),
    (1, 0, 0, 1, 1), (1, 0, 1, 0, 0), (3, 0, 0, 3, 1),
  ])
  func `notices have at most half of the places, and codes all that are free`(
    places: Int, codes: Int, notices: Int, roomForCodes: Int, roomForNotices: Int
  ) {
    var schedule = schedule
    schedule.concurrentMax = places
    let room = schedule.room(underWay: [mailCodes: codes, mailNotices: notices], transports: 1)
    #expect(room[mailCodes] == roomForCodes && room[mailNotices] == roomForNotices)
  }

  @Test func `codes get the free places before notices that have been due longer`() {
    func records(_ priority: DeliveryPriority, _ count: Int) -> [DeliveryRecord] {
      (0..<count).map { number in
        var record = record()
        (record.id, record.priority) = ("\(priority) \(number)", priority)
        return record
      }
    }
    var schedule = schedule
    schedule.concurrentMax = 4
    let due = records(.notice, 2) + records(.code, 3)
    let all = schedule.choose(due, underWay: [:], transports: 1)
    #expect(all.map(\.id) == ["code 0", "code 1", "code 2", "notice 0"])
    #expect(schedule.choose(due, underWay: [mailCodes: 2], transports: 1).map(\.priority) == [.code, .code])
    #expect(schedule.choose(due, underWay: [mailCodes: 4], transports: 1).isEmpty)
  }
}
