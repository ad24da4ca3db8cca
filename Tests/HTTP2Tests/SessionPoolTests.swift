import Testing

@testable import HTTP2

/// Bytes that leave a session which was asked for nothing.
private func greeting(_ session: Session) -> [UInt8] {
  var bytes: [UInt8] = []
  #expect(session.drain(into: &bytes, bytesMax: .max))
  return bytes
}

@Test func `a session has one frame buffer while it lives, and gives it back for the next`() throws {
  let buffers = try #require(FrameBuffers())
  var sessions: [Session] = []
  for _ in 0..<3 { sessions.append(try #require(Session(SessionLimits(), buffers, nowMillis: 0))) }
  let spare = buffers.spareCount
  sessions.removeFirst()
  #expect(buffers.spareCount == spare + 1)
  sessions.append(try #require(Session(SessionLimits(), buffers, nowMillis: 0)))
  #expect(buffers.spareCount == spare)
  sessions = []
  #expect(buffers.spareCount == spare + 3)
}

@Test func `there are frame buffers for more sessions than one slab has, each its own`() throws {
  let buffers = try #require(FrameBuffers())
  let sessions = try (0..<150).map { _ in try #require(Session(SessionLimits(), buffers, nowMillis: 0)) }
  let plain = try #require(Session(SessionLimits(), nowMillis: 0))
  let expected = greeting(plain)
  for session in sessions { #expect(greeting(session) == expected) }
  #expect(buffers.spareCount == 3 * 64 - 150)
}
