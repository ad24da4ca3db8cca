// TestSupport: what the tests of several modules need.
//
// Owns: folders that go with their test, waiting for what comes about by itself, memory for messages, and what fakes of
// a store leave out. Does not own what belongs to the tests of one module: that stands in their Support.swift.

package import API

/// False: it did not come about in time.
package func eventually(_ condition: () -> Bool) async -> Bool {
  // Far beyond what it takes: other suites may hold every thread of the pool for many seconds.
  let deadline = ContinuousClock.now + .seconds(120)
  while !condition() {
    guard ContinuousClock.now < deadline else { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// Eight times the 64 KiB that a message may have.
package func roomyArena() -> Arena { Arena(budgetBytes: 8 * 65_536) }
