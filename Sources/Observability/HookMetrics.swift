internal import CoreMetrics
package import Identity
internal import Synchronization

/// How a call to a hook ended, as a label of metrics and spans.
package enum HookEnd: String, Sendable, CaseIterable {
  case allowed
  case denied
  case timedOut = "timed_out"
  case unavailable
  case invalid
  case breakerOpen = "breaker_open"
  case overloaded
}

/// Counters of the calls to hooks. They exist for each configured hook, so that a rate has a start value.
package final class HookMetrics: Sendable {
  private struct Key: Hashable {
    var hook: String
    var event: HookEvent
  }

  private struct OfHook {
    var ends: CounterSet
    var seconds: Timer
  }

  private let registry: MetricsRegistry
  private let hooks = Mutex<[Key: OfHook]>([:])

  init(_ registry: MetricsRegistry) {
    self.registry = registry
    registry.describe(Catalogue.hookCalls)
    registry.describe(Catalogue.hookSeconds, bounds: Bounds.seconds)
  }

  /// Creates the counters of configured hooks that have none yet.
  package func add(_ hook: String, _ events: [HookEvent]) {
    hooks.withLock { hooks in
      for event in events where hooks[Key(hook: hook, event: event)] == nil {
        let labels = [("hook", hook), ("event", event.rawValue)]
        hooks[Key(hook: hook, event: event)] = OfHook(
          ends: CounterSet(
            Catalogue.hookCalls.name, "outcome", HookEnd.allCases.map(\.rawValue), of: labels, registry),
          seconds: Timer(label: Catalogue.hookSeconds.name, dimensions: labels, factory: registry))
      }
    }
  }

  package func ended(_ hook: String, _ event: HookEvent, _ end: HookEnd, nanos: Int64) {
    guard let counters = hooks.withLock({ $0[Key(hook: hook, event: event)] }) else { return }
    counters.ends.count(end.rawValue)
    counters.seconds.recordNanoseconds(nanos)
  }
}
