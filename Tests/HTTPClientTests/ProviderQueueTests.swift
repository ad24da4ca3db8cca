import Testing

@testable import HTTPClient

/// A queue with two concurrent fetches and three waiting ones. Fetches are numbers, and each has one second.
private struct Timed {
  private let start = ContinuousClock.now
  var millis = 0
  private var queue: ProviderQueue<Int>

  init() {
    var limits = FetchLimits()
    limits.perProviderMax = 2
    limits.waitingPerProviderMax = 3
    limits.failuresMax = 2
    limits.pauseMillis = 1_000
    queue = ProviderQueue(limits)
  }

  private var now: ContinuousClock.Instant { start + .milliseconds(millis) }
  var waiting: Int { queue.waitingCount }
  var isOpen: Bool { !queue.breaker.isClosed }

  mutating func arrived(_ fetch: Int) -> String {
    switch queue.arrived(fetch, deadline: now + .seconds(1), at: now) {
    case .starts(let asTrial): asTrial ? "trial" : "starts"
    case .waits: "waits"
    case .refused(let why): "\(why)"
    }
  }

  mutating func arrived(_ fetches: Range<Int>) -> [String] { fetches.map { arrived($0) } }

  mutating func ended(_ end: Breaker.End = .answered, asTrial: Bool = false) -> [String] {
    let departures = queue.ended(end, asTrial: asTrial, at: now)
    return departures.refused.map { "\($0.item) \($0.why)" } + departures.starting.map { "\($0) starts" }
  }

  mutating func allRefused() -> [String] { queue.allRefused(.closed).refused.map { "\($0.item) \($0.why)" } }
}

struct ProviderQueueTests {
  @Test func `fetches start up to the first limit, wait up to the second, and are refused past it`() {
    var queue = Timed()
    #expect(queue.arrived(0..<6) == ["starts", "starts", "waits", "waits", "waits", "overloaded"])
    #expect(queue.waiting == 3)
  }

  @Test func `each finished fetch starts the next one, in order of arrival, whatever its result`() {
    var queue = Timed()
    _ = queue.arrived(0..<5)
    #expect(queue.ended(.answered) == ["2 starts"])
    #expect(queue.ended(.failed) == ["3 starts"])
    #expect(queue.ended(.unknown) == ["4 starts"])
    #expect(queue.ended() == [] && queue.ended() == [])
    #expect(queue.arrived(5..<8) == ["starts", "starts", "waits"])
  }

  @Test func `a fetch that arrives while others wait is queued behind them`() {
    var queue = Timed()
    _ = queue.arrived(0..<3)
    #expect(queue.ended() == ["2 starts"])
    #expect(queue.arrived(3) == "waits")
  }

  @Test func `a fetch whose time is up fails when the next one ends, and those behind it start`() {
    var queue = Timed()
    _ = queue.arrived(0..<4)
    queue.millis = 999
    #expect(queue.arrived(4) == "waits")
    queue.millis = 1_000
    #expect(queue.ended() == ["2 timedOut", "3 timedOut", "4 starts"])
  }

  @Test func `when the breaker opens, waiting fetches fail and no fetch starts`() {
    var queue = Timed()
    _ = queue.arrived(0..<5)
    #expect(queue.ended(.failed) == ["2 starts"])
    #expect(queue.ended(.failed) == ["3 circuitOpen", "4 circuitOpen"])
    #expect(queue.isOpen && queue.waiting == 0)
    #expect(queue.arrived(5) == "circuitOpen")
    #expect(queue.ended(.failed) == [])
  }

  @Test func `after the pause one trial fetch starts, and after its answer all do`() {
    var queue = Timed()
    _ = queue.arrived(0..<2)
    _ = queue.ended(.failed)
    _ = queue.ended(.failed)
    queue.millis = 1_000
    #expect(queue.arrived(2..<4) == ["trial", "circuitOpen"])
    #expect(queue.ended(.answered, asTrial: true) == [])
    #expect(queue.arrived(4..<7) == ["starts", "starts", "waits"])
  }

  @Test func `a trial starts even while earlier fetches are running`() {
    var queue = Timed()
    _ = queue.arrived(0..<3)
    #expect(queue.ended(.failed) == ["2 starts"])
    #expect(queue.ended(.failed) == [])
    queue.millis = 1_000
    #expect(queue.arrived(3..<5) == ["trial", "circuitOpen"])
    #expect(queue.ended(.unknown, asTrial: true) == [])
    #expect(queue.arrived(5) == "trial")
  }

  @Test func `closing ends all waiting fetches`() {
    var queue = Timed()
    _ = queue.arrived(0..<4)
    #expect(queue.allRefused() == ["2 closed", "3 closed"])
    #expect(queue.waiting == 0 && queue.ended() == [])
  }
}
