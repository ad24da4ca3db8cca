// StoreConformance: every promise of Sources/Store as a named check that any backend can be put to.
//
// Owns: the promises. Does not own: a test framework or a backend; a backend's tests open an empty place and run them
// all. Promises of one backend alone (snapshots of a turn, group commit, files) are in its own tests.
// Read next: Bench.swift (what a check is given), then the promises by subject.

package import Store

/// One promise of the store.
package struct Promise: Sendable, CustomStringConvertible {
  package let name: String
  private let check: @Sendable (Bench) async throws -> Void

  init(_ name: String, _ check: @escaping @Sendable (Bench) async throws -> Void) {
    self.name = name
    self.check = check
  }

  package var description: String { name }

  /// Throws `BrokenPromise`, or whatever the store throws. `open` opens the store of one place that was empty at first;
  /// it is called again only after the store before it was closed.
  package func keep(open: @escaping @Sendable () async throws -> any Store) async throws {
    let bench = Bench(store: try await open(), open: open)
    do {
      try await check(bench)
    } catch {
      await bench.store.close()
      throw error
    }
    await bench.store.close()
  }

  package static let all: [Promise] = [
    accounts, credentials, sessions, pendings, records, changes, races, deliveries, throttles,
    closedAccounts, idleAccounts, administration, events,
  ].flatMap { $0 }
}

package struct BrokenPromise: Error, CustomStringConvertible {
  package let description: String
}

extension Store {
  /// Keeps every audit row.
  package func sweep(at now: Timestamp, rowsMax: Int) async throws -> Int {
    try await sweep(at: now, rowsMax: rowsMax, auditedBefore: Timestamp(millis: .min))
  }
}
