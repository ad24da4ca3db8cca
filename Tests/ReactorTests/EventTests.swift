import Testing

@testable import Reactor

@Test func `every task that waits for an end is resumed, and later ones do not wait`() async {
  let completion = Completion()
  let tasks = (0..<3).map { _ in Task { await completion.wait() } }
  let limited = (0..<3).map { _ in Task { await completion.wait(millis: 60_000) } }
  completion.end()
  for task in tasks { await task.value }
  for task in limited { #expect(await task.value) }
  await completion.wait()
  #expect(await completion.wait(millis: 60_000))
}

@Test func `a wait for an end that does not come in time returns false, and ends no other wait`() async {
  let completion = Completion()
  let other = Task { await completion.wait(millis: 60_000) }
  #expect(await !completion.wait(millis: 0))
  #expect(await !completion.wait(millis: 20))
  completion.end()
  #expect(await other.value)
}

@Test func `an event remembers a signal for one wait`() async {
  let event = AsyncEvent()
  event.signal()
  event.signal()
  await event.wait(millis: 60_000)
  #expect(await duration { await event.wait(millis: 50) } >= 50)
  let waiting = Task { await event.wait(millis: 60_000) }
  event.signal()
  await waiting.value
}

@Test func `an alarm that rings after its wait ends no later wait`() async throws {
  let event = AsyncEvent()
  event.signal()
  await event.wait(millis: 60_000)
  await event.wait(millis: 1)
  event.timeOut(1)
  #expect(await duration { await event.wait(millis: 50) } >= 50)
  let waiting = Task { await duration { await event.wait(millis: 200) } }
  try await Task.sleep(for: .milliseconds(50))
  event.timeOut(1)
  #expect(await waiting.value >= 200)
}

/// Returns how long the call takes, in milliseconds.
private func duration(_ call: () async -> Void) async -> Int64 {
  let begun = monotonicMillis()
  await call()
  return monotonicMillis() - begun
}
