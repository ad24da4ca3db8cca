import Synchronization
import Testing

@testable import Server

private struct Broken: Error {}

/// Writes down what happens to the parts.
private final class Diary: Sendable {
  private let entries = Mutex<[String]>([])

  func note(_ entry: String) { entries.withLock { $0.append(entry) } }
  var text: [String] { entries.withLock(\.self) }
}

private struct FakePart: Part {
  let name: String
  let diary: Diary
  var fails = false

  func start() throws {
    diary.note("start \(name)")
    if fails { throw Broken() }
  }

  func drain() async { diary.note("drain \(name)") }
  func stop() async { diary.note("stop \(name)") }
}

private func list(_ names: [String], failing: String? = nil) -> (PartList, Diary) {
  let diary = Diary()
  return (PartList(parts: names.map { FakePart(name: $0, diary: diary, fails: $0 == failing) }), diary)
}

@Test func `parts start in order`() async throws {
  let (parts, diary) = list(["a", "b", "c"])
  try await parts.start()
  #expect(diary.text == ["start a", "start b", "start c"])
}

@Test func `parts drain in reverse order, and none stops before all are drained`() async {
  let (parts, diary) = list(["a", "b", "c"])
  await parts.drainAndStop()
  #expect(diary.text == ["drain c", "drain b", "drain a", "stop c", "stop b", "stop a"])
}

@Test(arguments: [
  ("a", ["start a"]), ("b", ["start a", "start b", "stop a"]),
  ("c", ["start a", "start b", "start c", "stop b", "stop a"]),
])
func `a part that cannot start stops those that started, in reverse order, and is not stopped itself`(
  failing: String, events: [String]
) async {
  let (parts, diary) = list(["a", "b", "c"], failing: failing)
  await #expect(throws: Broken.self) { try await parts.start() }
  #expect(diary.text == events)
}

@Test func `a part that only closes needs nothing else`() async throws {
  let diary = Diary()
  let parts = PartList(parts: [
    ClosingPart(name: "a", draining: { diary.note("drain a") }),
    ClosingPart(name: "b", closing: { diary.note("close b") }),
    TaskPart("c") { Task { diary.note("run c") } },
  ])
  try await parts.start()
  await parts.drainAndStop()
  #expect(diary.text.filter { $0 != "run c" } == ["drain a", "close b"])
}
