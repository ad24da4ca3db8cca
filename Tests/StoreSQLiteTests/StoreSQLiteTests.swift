import Glibc
import Store
import StoreConformance
import Testing

@testable import StoreSQLite

@Test("The embedded store keeps its promise:", .timeLimit(.minutes(2)), arguments: Promise.all)
func keeps(promise: Promise) async throws {
  let folder = try Folder()
  try await promise.keep { try SQLiteStore(path: folder.file) }
}
