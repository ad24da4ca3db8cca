import CLinux
import Glibc
import TestSupport
import Testing

@testable import Reactor

@Test func `a private folder is created, held by one owner, and free again after it`() async throws {
  try await withFolder { place in
    var folder: PrivateFolder? = try PrivateFolder(place + "/a/b")
    #expect(mode(place + "/a/b") == 0o700)
    #expect(throws: PrivateFolder.Held(path: place + "/a/b")) { try PrivateFolder(place + "/a/b") }
    #expect(folder?.path == place + "/a/b")
    folder = nil
    _ = try PrivateFolder(place + "/a/b")
    #expect(throws: SystemError.self) { try PrivateFolder("/proc/none") }
  }
}

@Test func `the files of a private folder are created, listed, renamed, synced and removed by name`() async throws {
  try await withFolder { place in
    let folder = try PrivateFolder(place)
    #expect(try folder.names() == [])
    try folder.create("b")
    try folder.create("a")
    #expect(throws: SystemError(code: EEXIST, call: "create \(place)/a")) { try folder.create("a") }
    #expect(mode(place + "/a") == 0o600)
    try folder.sync("a")
    try folder.rename("a", to: "c")
    try folder.sync()
    #expect(try folder.names() == ["b", "c"])
    folder.remove("b")
    folder.remove("b")
    #expect(try folder.names() == ["c"])
    #expect(throws: SystemError(code: ENOENT, call: "open \(place)/b")) { try folder.sync("b") }
    #expect(throws: SystemError(code: ENOENT, call: "rename \(place)/b")) { try folder.rename("b", to: "d") }
  }
}

@Test func `the error code shows that the reader has gone`() {
  #expect(SystemError(code: EPIPE, call: "write").isBrokenPipe)
  #expect(!SystemError(code: ENOSPC, call: "write").isBrokenPipe)
}

@Test func `the error codes show a full disk`() {
  for (code, isFull) in [(ENOSPC, true), (EDQUOT, true), (EIO, false)] {
    #expect(SystemError(code: code, call: "write").isFullDisk == isFull)
  }
}
