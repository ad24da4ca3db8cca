import Glibc
import Store
import Testing

@testable import StoreSQLite

@Suite struct CheckpointTests {
  private var options: Options {
    var options = Options()
    options.checkpointPages = 10
    options.restartRestMillis = 100
    return options
  }

  @Test func `a long log is checkpointed alongside readers, and one four times as long waits for them`() {
    let plan = CheckpointPlan(options)
    func due(_ pages: Int32) -> CheckpointPlan.Kind? { plan.due(logPages: pages, isLogHeld: false, nowMillis: 0) }
    #expect([9, 10, 39, 40].map(due) == [nil, .passive, .passive, .restart])
  }

  @Test func `no checkpoint waits for a copy`() {
    #expect(CheckpointPlan(options).due(logPages: 40, isLogHeld: true, nowMillis: 0) == .passive)
  }

  @Test func `a checkpoint that has waited for a reader without success does not wait again for a while`() {
    var plan = CheckpointPlan(options)
    plan.metReader(nowMillis: 1_000)
    func due(_ now: Int64) -> CheckpointPlan.Kind? { plan.due(logPages: 40, isLogHeld: false, nowMillis: now) }
    #expect([1_000, 1_099, 1_100].map(due) == [.passive, .passive, .restart])
  }

  @Test func `a foreign reader that never ends its transaction does not delay a change for long`() async throws {
    let folder = try Folder()
    var options = Options()
    options.checkpointPages = 10
    options.writerBusyMillis = 30_000
    let store = try SQLiteStore(path: folder.file, options: options)
    let foreign = try Connection.reader(path: folder.file, options: Options())
    try foreign.execute("BEGIN")
    #expect(try foreign.integer("SELECT count(*) FROM accounts") == 0)
    var slow: [Duration] = []
    for number in 0..<200 {
      let begun = ContinuousClock.now
      #expect(try await store.commit(.account(.insert(AccountRecord("a\(number)")))) == .committed)
      let took = begun.duration(to: .now)
      // A disk may be slow at times. Each group that waits for the reader would take longer than this.
      if took > .milliseconds(150) { slow.append(took) }
      if took > .seconds(20) { break }
    }
    #expect(logBytes(folder) > 40 * 4_096, "the log could not start over during the read")
    #expect(slow.count < 100 && slow.allSatisfy { $0 < .milliseconds(options.writerBusyMillis) }, "\(slow)")
    try foreign.execute("ROLLBACK")
    foreign.close()
    _ = try await store.commit(.account(.insert(AccountRecord("last"))))
    let before = logBytes(folder)
    for number in 200..<300 { _ = try await store.commit(.account(.insert(AccountRecord("a\(number)")))) }
    #expect(logBytes(folder) == before, "it starts over once the reader is gone")
    await store.close()
  }

  private func logBytes(_ folder: Folder) -> Int {
    var status = stat()
    return unsafe stat(folder.file + "-wal", &status) == 0 ? Int(status.st_size) : 0
  }
}
