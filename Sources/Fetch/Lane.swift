/// The fetches of one provider: how many are under way, who waits, and whether the provider is asked at all. Each
/// provider has a lane of its own, so that what one of them does delays no fetch from another.
///
/// Nobody who waits needs a timer. All fetches of a lane have the same time and begin in the order they came, so those
/// under way are over before the time of those behind them is, and each end looks whose time is up.
struct Lane<Item> {
  typealias Instant = ContinuousClock.Instant

  enum Arrival {
    case starts(asTrial: Bool)
    case waits
    case refused(FetchError)
  }

  /// Whose waiting an end has ended.
  struct Departures {
    var starting: [Item] = []
    var refused: [(item: Item, why: FetchError)] = []
  }

  private let limits: FetchLimits
  private var running = 0
  private var waiting: [(item: Item, deadline: Instant)] = []
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
      // There is room: it was an end that opened the breaker, and nobody has started since.
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

  /// One that had started has ended.
  mutating func ended(_ end: Breaker.End, asTrial: Bool, at now: Instant) -> Departures {
    running -= 1
    breaker.ended(end, asTrial: asTrial, at: now)
    guard breaker.isClosed else { return allRefused(.circuitOpen) }
    var departures = Departures()
    while let first = waiting.first, first.deadline <= now || running < limits.perProviderMax {
      waiting.removeFirst()
      if first.deadline <= now {
        departures.refused.append((first.item, .timedOut))
      } else {
        running += 1
        departures.starting.append(first.item)
      }
    }
    return departures
  }

  /// Nobody waits any longer.
  mutating func allRefused(_ why: FetchError) -> Departures {
    defer { waiting = [] }
    return Departures(refused: waiting.map { ($0.item, why) })
  }
}

extension Lane: Sendable where Item: Sendable {}
extension Lane.Departures: Sendable where Item: Sendable {}
