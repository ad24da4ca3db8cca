import Store
import StoreConformance
import Testing

@testable import StorePostgres

@Test(
  "The store in PostgreSQL keeps its promise:", .enabled(if: Place.isThere), .timeLimit(.minutes(2)),
  arguments: Promise.all)
func keeps(promise: Promise) async throws {
  let place = try Place()
  try await promise.keep(excessMax: Place.connections) { try place.open() }
}

@Test(
  "Two stores on one database keep a promise together:", .enabled(if: Place.isThere), .timeLimit(.minutes(2)),
  arguments: Promise.concurrent)
func keepTogether(promise: Promise) async throws {
  let place = try Place()
  try await promise.keep(excessMax: 2 * Place.connections) { Replicas([try place.open(), try place.open()]) }
}
