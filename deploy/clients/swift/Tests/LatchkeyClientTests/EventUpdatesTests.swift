import GRPCCore
import GRPCProtobuf
import Synchronization
import Testing

@testable import LatchkeyClient

private func update(_ cursor: String, event: String = "") -> Latchkey_V1_WatchResponse {
  .with {
    $0.cursor = cursor
    if !event.isEmpty { $0.event.eventID = event }
  }
}

private func updates(of client: LatchkeyClient) -> EventUpdates {
  var updates = client.updates(after: "now", types: [.linked])
  updates.firstPause = .milliseconds(1)
  return updates
}

@Test func `a stream that ends is resumed from the last cursor`() async throws {
  let server = TestServer()
  server.state.withLock {
    $0.streams = [[update("1"), update("2", event: "a")], [], [update("3", event: "b"), update("4", event: "c")]]
  }
  try await withClient(of: server) { client in
    var cursors: [String] = []
    for try await update in updates(of: client) {
      cursors.append(update.cursor)
      if update.event.eventID == "c" { break }
    }
    #expect(cursors == ["1", "2", "3", "4"])
  }
  let watches = server.state.withLock(\.watches)
  #expect(watches.prefix(3).map(\.cursor) == ["now", "2", "2"])
  #expect(watches.allSatisfy { $0.types == [.linked] })
}

@Test func `a failure that a repeat cannot repair ends the sequence`() async throws {
  let server = TestServer()
  server.state.withLock { $0.watchFailure = .of(.permissionDenied, "CALLER_NOT_ALLOWED") }
  try await withClient(of: server) { client in
    let error = await #expect(throws: LatchkeyError.self) {
      for try await _ in updates(of: client) {}
    }
    #expect(error?.reason == .callerNotAllowed)
  }
  #expect(server.state.withLock(\.watches.count) == 1)
}

@Test func `the stream is not resumed after an update that was not taken`() async throws {
  let server = TestServer()
  server.state.withLock { $0.streams = [[update("1"), update("2"), update("3")]] }
  try await withClient(of: server) { client in
    for try await update in updates(of: client) where update.cursor == "1" { break }
    // The loop has ended, so nothing calls the server again.
    try await Task.sleep(for: .milliseconds(20))
  }
  #expect(server.state.withLock(\.watches.count) == 1)
}

@Test func `a cancelled task leaves the sequence with an error`() async throws {
  let server = TestServer()
  try await withClient(of: server) { client in
    let task = Task { for try await _ in updates(of: client) {} }
    while server.state.withLock(\.watches.isEmpty) { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
