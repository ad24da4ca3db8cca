import Store
import Testing

@testable import StoreSQLite

/// Commits of an attached thread within one turn.
@Suite struct TurnTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  /// Commits this many changes before the turn ends, and waits for the answers only then.
  private func commitInOneTurn(_ store: SQLiteStore, count: Int) async throws -> [Result<Outcome, any Error>] {
    try await ReactorThread.run(on: store) {
      let tasks = (0..<count).map { number in
        Task.immediate { try await store.commit(.account(.insert(AccountRecord("a\(number)")))) }
      }
      var answers: [Result<Outcome, any Error>] = []
      for task in tasks { answers.append(await task.result) }
      return answers
    }
  }

  @Test func `changes of one turn share a transaction`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let answers = try await commitInOneTurn(store, count: 20)
    #expect(answers.allSatisfy { (try? $0.get()) == .committed })
    #expect(store.transactionCount == 1)
    await store.close()
  }

  @Test func `a long turn passes on its changes before it ends`() async throws {
    var options = Options()
    options.handOverMax = 4
    let store = try SQLiteStore(path: folder.file, options: options)
    let answers = try await ReactorThread.run(on: store) { () -> [Outcome] in
      let tasks = (0..<5).map { number in
        Task.immediate { try await store.commit(.account(.insert(AccountRecord("a\(number)")))) }
      }
      // Nothing has been awaited here, so the turn continues.
      while store.changeCount < 4 {}
      #expect(store.changeCount == 4)
      var outcomes: [Outcome] = []
      for task in tasks { outcomes.append(try await task.value) }
      return outcomes
    }
    #expect(answers == Array(repeating: .committed, count: 5))
    #expect(store.changeCount == 5)
    await store.close()
  }

  @Test func `changes of a turn past the queue's maximum are refused, and earlier ones are not`() async throws {
    var options = Options()
    options.queueMax = 8
    let store = try SQLiteStore(path: folder.file, options: options)
    let answers = try await commitInOneTurn(store, count: 20)
    #expect(answers.prefix(8).allSatisfy { (try? $0.get()) == .committed })
    for answer in answers.dropFirst(8) {
      #expect(throws: StoreError.unavailable("store queue full")) { try answer.get() }
    }
    await store.close()
  }

  @Test func `a detached thread leaves no change behind`() async throws {
    let store = try SQLiteStore(path: folder.file)
    let task = try await ReactorThread.run(on: store) {
      let task = Task.immediate { try await store.commit(.account(.insert(AccountRecord("ann")))) }
      store.detachThread()
      return task
    }
    #expect(try await task.value == .committed)
    await store.close()
  }
}
