import Logging
import Services
import Store
import Synchronization
import TestSupport
import Testing

@testable import Observability

private final class Clock: Sendable {
  let millis = Atomic<Int64>(0)
}

/// A store that fails, with its health and log.
private final class Failing: Sendable {
  let health = HealthState()
  let isFailing = Atomic<Bool>(true)
  let probes = Atomic<Int>(0)
  let told = Atomic<Int>(0)
  let clock = Clock()
  let watch: StoreHealth

  init() {
    watch = StoreHealth(
      health, graceMillis: 100, probeMillis: 5, log: Log(JSONLines(level: .critical, descriptor: 2)),
      nowMillis: { [clock] in clock.millis.load(ordering: .relaxed) })
    watch.tell { [unowned self] in told.add(1, ordering: .relaxed) }
    watch.probe { [unowned self] in
      probes.add(1, ordering: .relaxed)
      if isFailing.load(ordering: .relaxed) { throw StoreError.unavailable("full") }
    }
  }

  func probed(_ times: Int) async -> Bool { await eventually { probes.load(ordering: .relaxed) >= times } }
}

@Test(arguments: [(StoreTrouble.full, NotServing.storeFull), (.unreadable, .storeUnreadable)])
func `a failing disk ends the service immediately, until a probe succeeds`(
  trouble: StoreTrouble, reason: NotServing
) async {
  let store = Failing()
  for _ in 0..<10 { store.watch.met(trouble, "why") }
  #expect(store.health.reason == reason && store.watch.troubles == [trouble])
  #expect(store.told.load(ordering: .relaxed) == 1, "once, not for each call")
  #expect(await store.probed(3))
  #expect(store.health.reason == reason)
  store.isFailing.store(false, ordering: .relaxed)
  #expect(await eventually { store.health.isServing })
  #expect(store.watch.troubles.isEmpty)
  #expect(await eventually { store.told.load(ordering: .relaxed) == 2 })
}

@Test func `a corrupt store is not served again, and no probe is tried`() async throws {
  let store = Failing()
  store.isFailing.store(false, ordering: .relaxed)
  store.watch.met(.corrupt, "why")
  store.watch.met(.full, "why")
  #expect(await store.probed(1))
  #expect(await eventually { store.watch.troubles == [.corrupt] })
  #expect(store.health.reason == .storeCorrupt)
}

@Test func `a disk that fills again soon is probed half as often`() async {
  let store = Failing()
  store.isFailing.store(false, ordering: .relaxed)
  for (round, expected) in [5, 10, 20, 40].enumerated() {
    store.watch.met(.full, "why")
    #expect(store.watch.pauseMillis(of: .full) == Int64(expected), "round \(round)")
    #expect(await eventually { store.health.isServing })
  }
  store.clock.millis.store(60_000, ordering: .relaxed)
  store.watch.met(.full, "why")
  #expect(store.watch.pauseMillis(of: .full) == 5, "the last recovery was a minute ago")
  #expect(await eventually { store.health.isServing })
}

@Test func `the metrics show whether the server is ready, and why the store is not`() async {
  let (store, registry) = (Failing(), MetricsRegistry())
  store.watch.report(to: registry)
  #expect(registry.exposition().contains("latchkey_ready 1\n"))
  store.watch.met(.corrupt, "why")
  let text = registry.exposition()
  #expect(text.contains("latchkey_ready 0\n") && text.contains("latchkey_store_trouble{trouble=\"corrupt\"} 1\n"))
  #expect(text.contains("latchkey_store_trouble{trouble=\"full\"} 0\n"))
}
