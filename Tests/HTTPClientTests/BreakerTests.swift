import Testing

@testable import HTTPClient

/// A breaker with three failures and a pause of one second, and its clock.
private struct Timed {
  private let start = ContinuousClock.now
  var millis = 0
  var breaker: Breaker

  init() {
    var limits = FetchLimits()
    limits.failuresMax = 3
    limits.pauseMillis = 1_000
    breaker = Breaker(limits)
  }

  private var now: ContinuousClock.Instant { start + .milliseconds(millis) }

  mutating func asked() -> Breaker.Answer { breaker.asked(at: now) }
  mutating func ended(_ end: Breaker.End, asTrial: Bool = false) { breaker.ended(end, asTrial: asTrial, at: now) }

  static func open() -> Timed {
    var timed = Timed()
    for _ in 0..<3 { timed.ended(.failed) }
    return timed
  }

  static func halfOpen() -> Timed {
    var timed = Timed.open()
    timed.millis = 1_000
    _ = timed.asked()
    return timed
  }
}

struct BreakerTests {
  @Test func `the breaker opens at the limit of failures in a row, and not one before`() {
    var timed = Timed()
    for _ in 0..<2 { timed.ended(.failed) }
    #expect(timed.asked() == .pass && timed.breaker.isClosed && timed.breaker.openings == 0)
    timed.ended(.failed)
    #expect(timed.asked() == .refuse && !timed.breaker.isClosed && timed.breaker.openings == 1)
  }

  @Test func `an answer between failures resets the count`() {
    var timed = Timed()
    for end in [Breaker.End.failed, .failed, .answered, .failed, .failed] { timed.ended(end) }
    #expect(timed.asked() == .pass)
    timed.ended(.failed)
    #expect(timed.asked() == .refuse)
  }

  @Test func `a result that says nothing about the provider neither counts nor resets the count`() {
    var timed = Timed()
    for end in [Breaker.End.failed, .unknown, .failed, .unknown] { timed.ended(end) }
    #expect(timed.asked() == .pass)
    timed.ended(.failed)
    #expect(timed.asked() == .refuse)
  }

  @Test func `an open breaker refuses until the last millisecond of its pause, then allows one trial`() {
    var timed = Timed.open()
    timed.millis = 999
    #expect(timed.asked() == .refuse)
    timed.millis = 1_000
    #expect(timed.asked() == .trial)
    #expect(timed.asked() == .refuse)
    timed.millis = 100_000
    #expect(timed.asked() == .refuse)
  }

  @Test(arguments: [Breaker.End.answered, .failed, .unknown])
  func `a fetch that began before the breaker opened does not change it when it ends`(end: Breaker.End) {
    var timed = Timed.open()
    timed.millis = 500
    timed.ended(end)
    timed.millis = 999
    #expect(timed.asked() == .refuse)
    timed.millis = 1_000
    #expect(timed.asked() == .trial && timed.breaker.openings == 1)
    timed.ended(end)
    #expect(timed.asked() == .refuse && !timed.breaker.isClosed)
  }

  @Test func `a trial that is answered closes the breaker, and resets the count of failures`() {
    var timed = Timed.halfOpen()
    timed.ended(.answered, asTrial: true)
    #expect(timed.asked() == .pass && timed.breaker.isClosed)
    for _ in 0..<2 { timed.ended(.failed) }
    #expect(timed.asked() == .pass)
  }

  @Test func `a trial that fails opens the breaker for another pause`() {
    var timed = Timed.halfOpen()
    timed.millis = 1_500
    timed.ended(.failed, asTrial: true)
    timed.millis = 2_499
    #expect(timed.asked() == .refuse)
    timed.millis = 2_500
    #expect(timed.asked() == .trial && timed.breaker.openings == 2)
  }

  @Test func `a trial that says nothing about the provider is followed by another one immediately`() {
    var timed = Timed.halfOpen()
    timed.ended(.unknown, asTrial: true)
    #expect(timed.asked() == .trial && timed.breaker.openings == 1)
    #expect(timed.asked() == .refuse)
  }
}
