import Testing

@testable import HTTP2

private func rate(_ kind: Budget.Kind) -> Budget.Rate { Budget.Limits().rate(kind) }

extension Budget {
  /// The number of these events that are within the budget.
  fileprivate mutating func granted(_ count: Int, _ kind: Kind, at nowMillis: Int64) -> Int {
    var granted = 0
    for _ in 0..<count where spend(kind, of: Budget.Limits(), nowMillis: nowMillis) { granted += 1 }
    return granted
  }
}

@Test(arguments: Budget.Kind.allCases)
func `a budget allows events up to its limit; past it, it stays spent`(kind: Budget.Kind) {
  var budget = Budget()
  let limit = rate(kind).count
  #expect(budget.granted(limit, kind, at: 5) == limit)
  #expect(budget.granted(2, kind, at: 5) == 0)
}

private let renewed = [
  Budget.Kind.unfinishedReset, .provokedReset, .prematureStream, .settings, .controlFrame, .largeHeaderList,
]

@Test(arguments: renewed)
func `a budget with a window is full again when the window ends, and not a millisecond earlier`(kind: Budget.Kind) {
  let rate = rate(kind)
  var budget = Budget()
  #expect(budget.granted(rate.count + 1, kind, at: 1_000) == rate.count)
  #expect(budget.granted(1, kind, at: 1_000 + rate.windowMillis - 1) == 0)
  #expect(budget.granted(rate.count + 1, kind, at: 1_000 + rate.windowMillis) == rate.count)
}

@Test func `a window begins with the first event, not with the connection`() {
  let rate = rate(.unfinishedReset)
  var budget = Budget()
  #expect(budget.granted(rate.count, .unfinishedReset, at: rate.windowMillis - 1) == rate.count)
  #expect(budget.granted(1, .unfinishedReset, at: rate.windowMillis) == 0)
}

@Test(arguments: Budget.Kind.allCases.filter { !renewed.contains($0) })
func `a budget without a window is never restored`(kind: Budget.Kind) {
  var budget = Budget()
  #expect(budget.granted(rate(kind).count + 1, kind, at: 0) == rate(kind).count)
  #expect(budget.granted(1, kind, at: 1 << 50) == 0)
}

@Test func `each kind of event has its own budget`() {
  var budget = Budget()
  #expect(budget.granted(1_000, .priority, at: 0) < 1_000)
  for kind in [Budget.Kind.unfinishedReset, .provokedReset, .settings] {
    #expect(budget.granted(1, kind, at: 0) == 1, "\(kind)")
  }
}

@Test func `each request and each DATA frame that is sent earns control frames, but no more than were spent`() {
  var budget = Budget()
  let limit = rate(.controlFrame).count
  budget.earnControlFrames(500)
  #expect(budget.granted(limit, .controlFrame, at: 0) == limit)
  budget.earnControlFrames(7)
  #expect(budget.granted(8, .controlFrame, at: 0) == 7)
}

// MARK: The share of an identified caller

extension Budget {
  /// Whether this many resets are within the budget after this many calls.
  fileprivate mutating func takes(_ resets: Int, of calls: Int, percent: Int = 50, at nowMillis: Int64) -> Bool {
    var limits = Limits()
    limits.unfinishedResetsPercent = percent
    for _ in 0..<calls { beganCall(of: limits, nowMillis: nowMillis) }
    var taken = true
    for _ in 0..<resets {
      taken = spend(.unfinishedReset, of: limits, nowMillis: nowMillis, isIdentified: true) && taken
    }
    return taken
  }
}

@Test(arguments: [
  (100, 0, 50, true), (101, 0, 50, false), (101, 201, 50, false), (101, 202, 50, true), (5_000, 10_000, 50, true),
  (5_001, 10_000, 50, false), (100, 100, 0, true), (101, 10_000, 0, false), (10_000, 10_000, 100, true),
])
func `resets end a connection only past both the floor and the share`(
  resets: Int, calls: Int, percent: Int, taken: Bool
) {
  var budget = Budget()
  let isTaken = budget.takes(resets, of: calls, percent: percent, at: 0)
  #expect(isTaken == taken)
}

@Test func `the share counts the calls of the previous window, and no older ones`() {
  for (laterMillis, taken) in [(10_000, true), (19_999, true), (20_000, false)] as [(Int64, Bool)] {
    var budget = Budget()
    _ = budget.takes(0, of: 1_000, at: 0)
    let isTaken = budget.takes(400, of: 0, at: laterMillis)
    #expect(isTaken == taken, "\(laterMillis)")
  }
}

@Test func `resets of the previous window count against the share`() {
  var budget = Budget()
  let isFirstTaken = budget.takes(500, of: 1_000, at: 0)
  let isNextTaken = budget.takes(101, of: 101, at: 10_000)
  #expect(isFirstTaken && !isNextTaken)
}
