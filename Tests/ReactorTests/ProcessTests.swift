import CLinux
import Synchronization
import Testing

@testable import Reactor

@Test func `the signals that end the server and the one that reloads it are distinguished`() async {
  // In a separate process, because signals stay blocked.
  await #expect(processExitsWith: .success) {
    blockSignals()
    for (signal, meaning) in [(SIGTERM, ServerSignal.terminate), (SIGHUP, .reload), (SIGINT, .terminate)] {
      raise(signal)
      #expect(waitForSignal() == meaning)
    }
  }
}

@Test func `a file is read completely up to the limit, and rejected past it`() throws {
  let path = "/proc/sys/kernel/ostype"
  #expect(readFile(path, bytesMax: 6) == Array("Linux\n".utf8))
  #expect(readFile(path, bytesMax: 5) == nil)
  #expect(readFile("/proc/no such file", bytesMax: 5) == nil)
  #expect(readFile("/dev/null", bytesMax: 0) == [])
}

@Test func `the rest of a descriptor is read completely up to the limit`() {
  for bytesMax in [1, 0] {
    let pair = Pair()
    defer { pair.close() }
    pair.write()
    #expect(lk_shutdown_write(pair.far) == 0)
    let read = Result { () throws(SystemError) in try readRest(of: pair.near, bytesMax: bytesMax, call: "read") }
    #expect(read == (bytesMax == 1 ? .success([1]) : .failure(SystemError(code: EFBIG, call: "read"))))
  }
}

@Test func `the error for an unreadable file states the reason`() throws {
  for (path, code) in [("/proc/no such file", ENOENT), ("/proc", EISDIR), ("/proc/sys/kernel/ostype", EFBIG)] {
    #expect(throws: SystemError(code: code, call: "read \(path)")) { try wholeFile(path, bytesMax: 5) }
  }
  #expect(SystemError(code: EISDIR, call: "read /proc").reason == "Is a directory")
}

@Test func `the error for a place that cannot be written or created states the reason`() {
  #expect(writeFault("/dev/null", in: "/dev") == nil)
  #expect(writeFault("/tmp/no such file", in: "/tmp") == nil)
  #expect(writeFault("/proc/none/file", in: "/proc/none") == SystemError(code: ENOENT, call: "write /proc/none/file"))
}

@Test func `a thread can wait for work on another thread, and gets its value or its error`() async throws {
  struct Refused: Error {}
  let (value, failure) = await withCheckedContinuation { continuation in
    startThread(named: "waits") {
      continuation.resume(returning: (waitFor { 5 }, waitFor { () async throws -> Int in throw Refused() }))
    }
  }
  #expect(try value.get() == 5)
  #expect(throws: Refused.self) { try failure.get() }
}

@Test func `a part with its own thread is created before its start returns, and a failure is thrown`() throws {
  struct Refused: Error {}
  let isMade = Atomic<Bool>(false)
  let ran = Wakeups()
  try startPart(named: "part") {
    isMade.store(true, ordering: .releasing)
    return { ran.signal() }
  }
  #expect(isMade.load(ordering: .acquiring) == true)
  ran.wait()
  #expect(throws: Refused.self) { try startPart(named: "part") { throw Refused() } }
}
