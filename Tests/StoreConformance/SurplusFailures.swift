package import Store

/// Checks that a store with room for two failures keeps the newest two of four.
package func expectSurplusFailuresSwept(from store: any Store) async throws {
  let bench = Bench(store: store, open: { store })
  for number in 1...4 {
    try await bench.prepare(.failure(.add(bench.failures(number, afterMillis: Int64(number)))))
  }
  try bench.equal(try await store.sweep(at: Bench.noon, rowsMax: 1), 1)
  try bench.equal(try await store.sweep(at: Bench.noon, rowsMax: 9), 1)
  try bench.equal(try await store.sweep(at: Bench.noon, rowsMax: 9), 0)
  try bench.equal(try await bench.failures(of: .account("ann")).map(\.call), ["SignIn 4", "SignIn 3"])
}
