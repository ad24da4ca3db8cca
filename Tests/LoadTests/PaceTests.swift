import Testing

@testable import latchkey_load

private let second: Int64 = 1_000_000_000

private func period(warmUp: Int64 = 0, measured: Int64) -> Period {
  Period(startNanos: 5 * second, warmUpNanos: warmUp, measuredNanos: measured)
}

/// Takes all that may start now.
private func take(_ pace: inout Pace, atNanos now: Int64) -> [Int64] {
  var taken: [Int64] = []
  while let intended = pace.next(atNanos: now) { taken.append(intended) }
  return taken
}

@Test func `arrivals are evenly spaced from the start on, and the end is not among them`() {
  var pace = Pace.open(Arrivals(ratePerSecond: 4, period: period(measured: second)))
  var intended: [Int64] = []
  while let nanos = pace.wakeNanos(atNanos: 0) { intended += take(&pace, atNanos: nanos) }
  #expect(intended == [0, 250, 500, 750].map { 5 * second + $0 * 1_000_000 })
}

@Test func `no arrival starts before its time`() {
  var pace = Pace.open(Arrivals(ratePerSecond: 10, period: period(measured: second)))
  #expect(take(&pace, atNanos: 5 * second - 1) == [])
  #expect(take(&pace, atNanos: 5 * second) == [5 * second])
  #expect(take(&pace, atNanos: 5 * second + 99_999_999) == [])
}

@Test func `arrivals without a free place keep their intended start, and the oldest starts first`() {
  var pace = Pace.open(Arrivals(ratePerSecond: 10, period: period(measured: second)))
  #expect(pace.next(atNanos: 5 * second) == 5 * second)
  let late = 5 * second + 350_000_000
  #expect(pace.backlog(atNanos: late) == 3)
  #expect(pace.next(atNanos: late) == 5 * second + 100_000_000)
  #expect(pace.backlog(atNanos: late) == 2)
  #expect(take(&pace, atNanos: late) == [5 * second + 200_000_000, 5 * second + 300_000_000])
  #expect(pace.backlog(atNanos: late) == 0)
}

@Test func `arrivals due by the end may start during the grace time, and not after it`() {
  var pace = Pace.open(Arrivals(ratePerSecond: 10, period: period(measured: second)))
  _ = take(&pace, atNanos: 5 * second + 450_000_000)
  #expect(pace.backlog(atNanos: 6 * second) == 5)
  let closing = 6 * second + Arrivals.graceNanos
  #expect(pace.next(atNanos: closing - 1) == 5 * second + 500_000_000)
  #expect(pace.next(atNanos: closing) == nil)
  #expect(pace.wakeNanos(atNanos: closing - 1) != nil)
  #expect(pace.wakeNanos(atNanos: closing) == nil)
  #expect(pace.backlog(atNanos: closing) == 4)
  #expect(pace.backlog(atNanos: 9 * second) == 4)
}

@Test(arguments: [0.3, 1, 3, 7, 333.3, 1_000, 49_999, 1_000_000])
func `the number of arrivals matches the rate, also for rates that do not divide a second`(rate: Double) {
  let arrivals = Arrivals(ratePerSecond: rate, period: period(measured: 10 * second))
  var pace = Pace.open(arrivals)
  let taken = take(&pace, atNanos: 15 * second - 1)
  #expect(taken.count == arrivals.total)
  #expect(taken.allSatisfy { $0 < 15 * second })
  #expect(abs(Double(taken.count) - rate * 10) <= 1)
}

@Test func `a closed loop can start iterations at any time until the end`() {
  var pace = Pace.closed(period(measured: second))
  #expect(pace.next(atNanos: 5 * second + 3) == 5 * second + 3)
  #expect(pace.next(atNanos: 6 * second - 1) == 6 * second - 1)
  #expect(pace.next(atNanos: 6 * second) == nil)
  #expect(pace.backlog(atNanos: 6 * second) == 0)
}

@Test func `an arrival that was due during the warm-up does not count, however late it starts`() {
  let period = period(warmUp: second, measured: second)
  #expect(!period.counts(intendedNanos: 6 * second - 1))
  #expect(period.counts(intendedNanos: 6 * second))
  #expect(period.endNanos == 7 * second)
}
