// TestSupport: common parts of the tests of several modules.
//
// Owns: temporary folders, waiting for asynchronous conditions, memory for messages, and defaults for fakes of a store.
// Does not own: parts for the tests of one module, which are in their Support.swift.

package import Protobuf

/// Waits for a condition. Returns false after a timeout.
package func eventually(_ condition: () -> Bool) async -> Bool {
  // Far longer than necessary: other suites may block every thread of the pool for many seconds.
  let deadline = ContinuousClock.now + .seconds(120)
  while !condition() {
    guard ContinuousClock.now < deadline else { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// Eight times the maximum of a message, 64 KiB.
package func roomyArena() -> Arena { Arena(budgetBytes: 8 * 65_536) }
