import StoreConformance
import Testing

@testable import StoreSQLite

@Test func `of more failures than the limit, a sweep removes the oldest`() async throws {
  let folder = try Folder()
  var options = Options()
  options.failuresMax = 2
  let store = try SQLiteStore(path: folder.file, options: options)
  try await expectSurplusFailuresSwept(from: store)
  await store.close()
}

@Test func `events and failures of an account are found by an index`() throws {
  let folder = try Folder()
  let connection = try folder.newFile()
  try Migrations.run(on: connection)
  for (query, index) in [
    ("SELECT * FROM audit WHERE account_id = ? AND position < ? ORDER BY position DESC LIMIT ?", "audit_by_account"),
    (
      "SELECT * FROM failures WHERE account_id = ? AND (last_at, key) < (?, ?) ORDER BY last_at DESC, key DESC LIMIT ?",
      "failures_by_account"
    ),
    (
      "SELECT * FROM failures WHERE subject = ? AND (last_at, key) < (?, ?) ORDER BY last_at DESC, key DESC LIMIT ?",
      "failures_by_subject"
    ),
    ("SELECT * FROM deliveries WHERE account_id = ? ORDER BY created_at DESC LIMIT ?", "deliveries_by_account"),
  ] {
    let plan = try connection.prepare("EXPLAIN QUERY PLAN \(query)")
    for character in query where character == "?" { _ = plan.bind(0) }
    var steps: [String] = []
    while try plan.step() {
      for _ in 0..<3 { _ = plan.int64() }
      steps.append(plan.text())
    }
    #expect(steps.contains { $0.contains(index) } && !steps.contains { $0.contains("TEMP B-TREE") }, "\(steps)")
  }
}
