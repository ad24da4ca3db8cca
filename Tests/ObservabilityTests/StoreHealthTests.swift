import Logging
import Services
import Synchronization
import Testing

@testable import Observability

@Test func `a short outage of the store is ignored, and a longer one is reported`() async throws {
  let health = HealthState()
  let told = Mutex(0)
  let watch = StoreHealth(health, graceMillis: 100, log: Log(JSONLines(level: .critical, descriptor: 2)))
  watch.tell { told.withLock { $0 += 1 } }
  watch.lost("why")
  watch.found()
  try await Task.sleep(nanoseconds: 200_000_000)
  #expect(health.isServing)
  let before = told.withLock { $0 }
  watch.lost("why")
  // The log line is the last step.
  for _ in 0..<6_000 where told.withLock({ $0 }) == before { try await Task.sleep(nanoseconds: 10_000_000) }
  #expect(!health.isServing && told.withLock { $0 } == before + 1)
  watch.found()
  #expect(health.isServing && told.withLock { $0 } == before + 2)
  // Such a long time cannot pass during the test.
  StoreHealth(health, graceMillis: 3_600_000, log: Log(JSONLines(level: .critical, descriptor: 2))).lost("why")
  #expect(health.isServing)
  health.stopServing()
  watch.found()
  #expect(!health.isServing)
}
