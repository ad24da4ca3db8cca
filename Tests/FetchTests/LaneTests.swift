import Testing

@testable import Fetch

/// A lane of two at once and three that wait, whose fetches are numbers with a second each.
private struct Timed {
  private let start = ContinuousClock.now
  var millis = 0
  private var lane: Lane<Int>

  init() {
    var limits = FetchLimits()
    limits.perProviderMax = 2
    limits.waitingPerProviderMax = 3
    limits.failuresMax = 2
    limits.pauseMillis = 1_000
    lane = Lane(limits)
  }

  private var now: ContinuousClock.Instant { start + .milliseconds(millis) }
  var waiting: Int { lane.waitingCount }
  var isOpen: Bool { !lane.breaker.isClosed }

  mutating func arrived(_ fetch: Int) -> String {
    switch lane.arrived(fetch, deadline: now + .seconds(1), at: now) {
    case .starts(let asTrial): asTrial ? "trial" : "starts"
    case .waits: "waits"
    case .refused(let why): "\(why)"
    }
  }

  mutating func arrived(_ fetches: Range<Int>) -> [String] { fetches.map { arrived($0) } }

  mutating func ended(_ end: Breaker.End = .answered, asTrial: Bool = false) -> [String] {
    let departures = lane.ended(end, asTrial: asTrial, at: now)
    return departures.refused.map { "\($0.item) \($0.why)" } + departures.starting.map { "\($0) starts" }
  }

  mutating func allRefused() -> [String] { lane.allRefused(.closed).refused.map { "\($0.item) \($0.why)" } }
}

struct LaneTests {
  @Test func `as many fetches as the limit start, as many as the other wait, and the next is refused`() {
    var lane = Timed()
    #expect(lane.arrived(0..<6) == ["starts", "starts", "waits", "waits", "waits", "overloaded"])
    #expect(lane.waiting == 3)
  }

  @Test func `each end lets the next in, in the order of coming, whatever it ended in`() {
    var lane = Timed()
    _ = lane.arrived(0..<5)
    #expect(lane.ended(.answered) == ["2 starts"])
    #expect(lane.ended(.failed) == ["3 starts"])
    #expect(lane.ended(.unknown) == ["4 starts"])
    #expect(lane.ended() == [] && lane.ended() == [])
    #expect(lane.arrived(5..<8) == ["starts", "starts", "waits"])
  }

  @Test func `who comes while others wait waits behind them`() {
    var lane = Timed()
    _ = lane.arrived(0..<3)
    #expect(lane.ended() == ["2 starts"])
    #expect(lane.arrived(3) == "waits")
  }

  @Test func `whose time is up is told so by the next end, and those behind come in`() {
    var lane = Timed()
    _ = lane.arrived(0..<4)
    lane.millis = 999
    #expect(lane.arrived(4) == "waits")
    lane.millis = 1_000
    #expect(lane.ended() == ["2 timedOut", "3 timedOut", "4 starts"])
  }

  @Test func `when the breaker opens nobody waits any longer, and nobody is let in`() {
    var lane = Timed()
    _ = lane.arrived(0..<5)
    #expect(lane.ended(.failed) == ["2 starts"])
    #expect(lane.ended(.failed) == ["3 circuitOpen", "4 circuitOpen"])
    #expect(lane.isOpen && lane.waiting == 0)
    #expect(lane.arrived(5) == "circuitOpen")
    #expect(lane.ended(.failed) == [])
  }

  @Test func `after the pause one is let in for trial, and with its answer all are`() {
    var lane = Timed()
    _ = lane.arrived(0..<2)
    _ = lane.ended(.failed)
    _ = lane.ended(.failed)
    lane.millis = 1_000
    #expect(lane.arrived(2..<4) == ["trial", "circuitOpen"])
    #expect(lane.ended(.answered, asTrial: true) == [])
    #expect(lane.arrived(4..<7) == ["starts", "starts", "waits"])
  }

  @Test func `a trial has room beside those that began before`() {
    var lane = Timed()
    _ = lane.arrived(0..<3)
    #expect(lane.ended(.failed) == ["2 starts"])
    #expect(lane.ended(.failed) == [])
    lane.millis = 1_000
    #expect(lane.arrived(3..<5) == ["trial", "circuitOpen"])
    #expect(lane.ended(.unknown, asTrial: true) == [])
    #expect(lane.arrived(5) == "trial")
  }

  @Test func `on closing all that wait are told`() {
    var lane = Timed()
    _ = lane.arrived(0..<4)
    #expect(lane.allRefused() == ["2 closed", "3 closed"])
    #expect(lane.waiting == 0 && lane.ended() == [])
  }
}
