import Foundation
import LatchkeyClient
import Testing

@Test func `a file keeps the last session, and only its owner can read it`() async throws {
  let folder = FileManager.default.temporaryDirectory.appending(path: makeIdempotencyKey())
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  defer { try? FileManager.default.removeItem(at: folder) }
  let path = folder.appending(path: "session").path(percentEncoded: false)
  let storage = FileSessionStorage(path: path)
  #expect(try await storage.load() == nil)
  try await storage.save(.sample("first", seconds: 60))
  let second = Latchkey_V1_Session.sample("second", seconds: 60)
  try await storage.save(second)
  #expect(try await FileSessionStorage(path: path).load() == second)
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  #expect(attributes[.posixPermissions] as? Int == 0o600)
  #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["session"])
  for _ in 0..<2 { try await storage.remove() }
  #expect(try await storage.load() == nil)
}

@Test func `a file in a missing folder reports the path`() async {
  let storage = FileSessionStorage(path: "/missing/session")
  let failure = await #expect(throws: FileSessionStorage.Failure.self) { try await storage.save(.init()) }
  #expect(failure?.path == "/missing/session")
  #expect(failure?.errno == ENOENT)
}
