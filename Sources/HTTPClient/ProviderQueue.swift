import Reactor

/// The fetches of one provider: the number of running ones, the waiting ones, and the circuit breaker. Each provider
/// has its own queue, so that none delays fetches from another.
///
/// Waiting fetches need no timer. All fetches of a queue have the same time limit and start in order of arrival.
/// Running fetches therefore end before the deadlines of those behind them. Each end checks those deadlines.
struct ProviderQueue<Item> {
  typealias Instant = ContinuousClock.Instant

  enum Arrival {
    case starts(asTrial: Bool)
    case waits
    case refused(FetchError)
  }

  /// Fetches that stop waiting when another ends.
  struct Departures {
    var starting: [Item] = []
    var refused: [(item: Item, why: FetchError)] = []
  }

  private let limits: FetchLimits
  private var running = 0
  private var waiting = FIFOQueue<(item: Item, deadline: Instant)>()
  private(set) var breaker: Breaker

  init(_ limits: FetchLimits) {
    self.limits = limits
    breaker = Breaker(limits)
  }

  var waitingCount: Int { waiting.count }

  mutating func arrived(_ item: Item, deadline: Instant, at now: Instant) -> Arrival {
    switch breaker.asked(at: now) {
    case .refuse: return .refused(.circuitOpen)
    case .trial:
      // There is room: the end of a fetch opened the breaker, and no fetch has started since.
      running += 1
      return .starts(asTrial: true)
    case .pass where running < limits.perProviderMax:
      running += 1
      return .starts(asTrial: false)
    case .pass where waiting.count < limits.waitingPerProviderMax:
      waiting.append((item, deadline))
      return .waits
    case .pass: return .refused(.overloaded)
    }
  }

  /// Records the end of a running fetch.
  mutating func ended(_ end: Breaker.End, asTrial: Bool, at now: Instant) -> Departures {
    running -= 1
    breaker.ended(end, asTrial: asTrial, at: now)
    guard breaker.isClosed else { return allRefused(.circuitOpen) }
    var departures = Departures()
    while let first = waiting.first, first.deadline <= now || running < limits.perProviderMax {
      _ = waiting.popFirst()
      if first.deadline <= now {
        departures.refused.append((first.item, .timedOut))
      } else {
        running += 1
        departures.starting.append(first.item)
      }
    }
    return departures
  }

  /// Rejects all waiting fetches.
  mutating func allRefused(_ why: FetchError) -> Departures {
    var departures = Departures()
    while let next = waiting.popFirst() { departures.refused.append((next.item, why)) }
    return departures
  }
}

extension ProviderQueue: Sendable where Item: Sendable {}
extension ProviderQueue.Departures: Sendable where Item: Sendable {}
