// StoreConformance: every promise of Sources/Store as a named check for any backend.
//
// Owns: the promises. Does not own: a test framework or a backend; a backend's tests open an empty place and run them
// all. Promises of one backend alone (snapshots of a turn, group commit, files) are in its own tests.
// Read next: Bench.swift (the environment of a check), then the promises by subject.

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

  /// Throws `BrokenPromise`, or any error of the store. `open` opens the store of a place that is empty at first. It is
  /// called again only after the previous store was closed.
  /// - Parameter excessMax: How far changes that are in progress at the same time may exceed the limit of a count.
  package func keep(excessMax: Int = 0, open: @escaping @Sendable () async throws -> any Store) async throws {
    let bench = Bench(store: try await open(), open: open, excessMax: excessMax)
    do {
      try await check(bench)
    } catch {
      await bench.store.close()
      throw error
    }
    await bench.store.close()
  }

  package static let all: [Promise] = [
    columns, accounts, credentials, sessions, pendings, records, changes, races, deliveries, throttles, closedAccounts,
    idleAccounts, administration, masterKeys, events, effects, support,
  ].flatMap { $0 }

  /// The promises whose calls compete for rows or positions. Several stores on one database must keep them together.
  package static let concurrent = races + events
}

package struct BrokenPromise: Error, CustomStringConvertible {
  package let description: String
}

extension Store {
  /// Sweeps without removing audit rows.
  package func sweep(at now: Timestamp, rowsMax: Int) async throws -> Int {
    try await sweep(at: now, rowsMax: rowsMax, auditedBefore: Timestamp(millis: .min))
  }
}
