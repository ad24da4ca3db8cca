import CLinux
import Glibc
import TestSupport
import Testing

@testable import Reactor

@Test func `only the owner can read a private file and its folders, whatever the umask`() async throws {
  try await withFolder { folder in
    let before = umask(0)
    defer { umask(before) }
    let file = PrivateFile(folder + "/a/b/secret")
    #expect(try file.read(bytesMax: 10) == nil)
    try file.write([1, 2, 3])
    #expect(try file.read(bytesMax: 3) == [1, 2, 3])
    #expect(mode(folder + "/a") == 0o700)
    #expect(mode(folder + "/a/b") == 0o700)
    #expect(mode(file.path) == 0o600)
    #expect(throws: SystemError.self) { try file.read(bytesMax: 2) }
  }
}

@Test func `a file that others can read is rejected as a secret`() async throws {
  try await withFolder { folder in
    let file = PrivateFile(folder + "/secret")
    try file.write([1])
    for exposed in [0o640, 0o604, 0o620] as [mode_t] {
      unsafe chmod(file.path, exposed)
      #expect(throws: PrivateFile.Exposed(path: file.path)) { try file.read(bytesMax: 10) }
    }
    unsafe chmod(file.path, 0o400)
    #expect(try file.read(bytesMax: 10) == [1])
  }
}

@Test func `a file is replaced as a whole, and a link in its place is not followed`() async throws {
  try await withFolder { folder in
    let (file, elsewhere) = (PrivateFile(folder + "/secret"), PrivateFile(folder + "/elsewhere"))
    try elsewhere.write([9])
    unsafe symlink(elsewhere.path, file.path)
    try file.write([1])
    #expect(try elsewhere.read(bytesMax: 10) == [9])
    #expect(try file.read(bytesMax: 10) == [1])
  }
}

@Test func `a lock of a private file excludes others until it is released`() async throws {
  try await withFolder { folder in
    let file = PrivateFile(folder + "/a/secret")
    let events = Notes<String>()
    var lock: PrivateFile.Lock? = try PrivateFile.Lock(of: file)
    startThread(named: "second") {
      let second = try? PrivateFile.Lock(of: file)
      events.add(second == nil ? "refused" : "locked")
    }
    // Long enough for a thread that does not wait.
    try await Task.sleep(for: .milliseconds(50))
    withExtendedLifetime(lock) { events.add("let go of") }
    lock = nil
    #expect(await eventually { events.all.count == 2 })
    #expect(events.all == ["let go of", "locked"])
    #expect(mode(file.path + ".lock") == 0o600)
    #expect(mode(folder + "/a") == 0o700)
  }
}

@Test func `a lock file that other users can open is rejected`() async throws {
  try await withFolder { folder in
    let file = PrivateFile(folder + "/secret")
    _ = try PrivateFile.Lock(of: file)
    unsafe chmod(file.path + ".lock", 0o620)
    #expect(throws: PrivateFile.Exposed(path: file.path + ".lock")) { try PrivateFile.Lock(of: file) }
  }
}

@Test func `a failed write reports its reason`() async throws {
  try await withFolder { folder in
    try PrivateFile(folder + "/file").write([1])
    #expect(throws: SystemError.self) { try PrivateFile(folder + "/file/below").write([1]) }
  }
}
