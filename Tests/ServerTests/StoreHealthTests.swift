import Services
import Synchronization
import Testing

@testable import Server

@Test func `a store that is gone for a moment is waited for, and one that stays away is told of`() async throws {
  let health = HealthState()
  let told = Mutex(0)
  let watch = StoreHealth(health, graceMillis: 100)
  watch.tell { told.withLock { $0 += 1 } }
  watch.reachable(false)
  watch.reachable(true)
  try await Task.sleep(nanoseconds: 200_000_000)
  #expect(health.isServing)
  let before = told.withLock { $0 }
  watch.reachable(false)
  #expect(health.isServing)
  for _ in 0..<200 where health.isServing { try await Task.sleep(nanoseconds: 10_000_000) }
  #expect(!health.isServing)
  watch.reachable(true)
  #expect(health.isServing && told.withLock { $0 } == before + 2)
  health.stopServing()
  watch.reachable(true)
  #expect(!health.isServing)
}
