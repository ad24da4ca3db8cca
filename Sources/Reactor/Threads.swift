internal import CLinux
internal import Synchronization

/// A named operating-system thread that runs `body` once. Nobody joins it: who needs its end is told by the body.
/// `niceness` keeps it behind threads of less when both want the same core.
package func tryStartThread(
  named name: String, niceness: Int32 = 0, _ body: sending @escaping () -> Void
) throws(SystemError) {
  final class Box {
    let name: String
    let niceness: Int32
    let body: () -> Void
    init(_ name: String, _ niceness: Int32, _ body: @escaping () -> Void) {
      self.name = name
      self.niceness = niceness
      self.body = body
    }
  }
  var attributes = pthread_attr_t()
  unsafe pthread_attr_init(&attributes)
  defer { unsafe pthread_attr_destroy(&attributes) }
  unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  // Swift frames are not small and password hashing allocates none of its memory here.
  unsafe pthread_attr_setstacksize(&attributes, 2 << 20)
  var thread = pthread_t()
  let context = unsafe Unmanaged.passRetained(Box(name, niceness, body)).toOpaque()
  let result = unsafe pthread_create(&thread, &attributes, { raw in
    let box = unsafe Unmanaged<Box>.fromOpaque(raw!).takeRetainedValue()
    unsafe lk_name_thread(box.name)
    if box.niceness != 0 { lk_be_nice(box.niceness) }
    box.body()
    return nil
  }, context)
  guard result == 0 else {
    unsafe Unmanaged<Box>.fromOpaque(context).release()
    throw SystemError(code: result, call: "pthread_create")
  }
}

/// The same for a thread without which its owner can do nothing.
package func startThread(named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
  do throws(SystemError) {
    try tryStartThread(named: name, niceness: niceness) { body() }
  } catch {
    preconditionFailure("no thread could be started: \(error)")
  }
}

/// For a thread that wakes often and briefly: it runs sooner then, though others compute on its core. A wish, which
/// kernels before 6.12 do not know.
package func bePrompt() { lk_be_prompt() }

/// A thread that makes something and then runs what `make` returns. Comes back once it is made, and throws what kept it
/// from that: a server without one of its parts would look as if it were one.
package func startPart(
  named name: String, niceness: Int32 = 0, _ make: @escaping @Sendable () throws -> () -> Void
) throws {
  let made = Wakeups()
  let failure = Mutex<(any Error)?>(nil)
  startThread(named: name, niceness: niceness) {
    let run: () -> Void
    do {
      run = try make()
    } catch {
      failure.withLock { $0 = error }
      return made.signal()
    }
    made.signal()
    run()
  }
  made.wait()
  if let error = failure.withLock({ $0 }) { throw error }
}

/// Only for threads that nobody waits for.
package func sleepThread(millis: UInt32) { usleep(millis * 1000) }

/// Every signal that ends or reloads the server is taken by `waitForSignal` and by nothing else. Called once, on the
/// main thread, before any other thread is started.
package func blockSignals() {
  lk_ignore_sigpipe()
  lk_block_signals()
}

/// A peer that went away is told by the write that failed, and does not end the process.
package func ignoreBrokenPipes() { lk_ignore_sigpipe() }

package enum ServerSignal: Sendable {
  case terminate
  case reload
  case rotateKeys
}

/// Blocks the calling thread until SIGTERM, SIGINT, SIGHUP or SIGUSR1.
package func waitForSignal() -> ServerSignal {
  switch lk_wait_signal() {
  case SIGHUP: .reload
  case SIGUSR1: .rotateKeys
  default: .terminate
  }
}

/// No core files and no tracing by others: the process holds keys. Raises the limit on open files. Called before any
/// file is opened to stay.
package func hardenProcess() {
  lk_hold_standard_descriptors()
  _ = lk_forbid_dumps()
  _ = lk_raise_file_limit()
}

/// Milliseconds since 1970.
package func wallMillis() -> Int64 { lk_wall_millis() }

/// Milliseconds of a clock that never goes back.
package func monotonicMillis() -> Int64 { lk_monotonic_millis() }

/// Nanoseconds of the same.
package func monotonicNanos() -> Int64 { lk_monotonic_nanos() }

/// For descriptors that no owner closes.
package func closeDescriptor(_ descriptor: Int32) { lk_close(descriptor) }

/// Writes all bytes to a blocking descriptor; what it refuses is lost. Returns how many it took.
@discardableResult
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int { writeUntilRefused(bytes, to: descriptor).count }

/// The same to standard output, whose reader must not take a part for the whole: what it refuses is thrown.
package func tryWriteOutput(_ bytes: [UInt8]) throws(SystemError) {
  let code = writeUntilRefused(bytes, to: 1).code
  guard code == 0 else { throw SystemError(code: code, call: "standard output") }
}

/// How many bytes the descriptor took, and the errno by which it refused the rest; 0: it took all.
func writeUntilRefused(_ bytes: [UInt8], to descriptor: Int32) -> (count: Int, code: Int32) {
  var start = 0
  while start < bytes.count {
    let written = unsafe bytes.withUnsafeBytes { buffer in
      unsafe lk_write(descriptor, buffer.baseAddress! + start, buffer.count - start)
    }
    if written < 0 { return (start, Int32(clamping: -written)) }
    start += Int(written)
  }
  return (start, 0)
}

/// The processors this process may run on.
package func processorCount() -> Int { max(1, Int(lk_processors())) }

/// A whole small file; nil where it cannot be read or is longer than `bytesMax`.
package func readFile(_ path: String, bytesMax: Int) -> [UInt8]? { try? wholeFile(path, bytesMax: bytesMax) }

/// The same for those who tell why not: EFBIG where it is longer.
package func wholeFile(_ path: String, bytesMax: Int) throws(SystemError) -> [UInt8] {
  let call = "read \(path)"
  let descriptor = unsafe lk_open_for_reading(path)
  guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: call) }
  defer { lk_close(descriptor) }
  return try readRest(of: descriptor, bytesMax: bytesMax, call: call)
}

/// What is left of a blocking descriptor.
func readRest(of descriptor: Int32, bytesMax: Int, call: String) throws(SystemError) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
  var count = 0
  while count < bytes.count {
    let read = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe lk_read(descriptor, buffer.baseAddress! + count, buffer.count - count)
    }
    guard read >= 0 else { throw SystemError(code: Int32(clamping: -read), call: call) }
    if read == 0 { return Array(bytes[..<count]) }
    count += Int(read)
  }
  throw SystemError(code: EFBIG, call: call)
}

/// Whether the file of a secret is open to everybody, or to its group; false where there is none. systemd and
/// Kubernetes let a group read secrets, and Kubernetes lets it write to volumes that can be written.
package func anybodyMayRead(_ path: String) -> Bool { fileMode(path) & 0o004 != 0 }
package func anybodyMayWrite(_ path: String) -> Bool { fileMode(path) & 0o002 != 0 }
package func groupMayWrite(_ path: String) -> Bool { fileMode(path) & 0o020 != 0 }
private func fileMode(_ path: String) -> Int32 { max(0, unsafe lk_file_mode(path)) }

/// Why a file or folder can be neither written nor made in the folder that it belongs to; nil: it can.
package func writeFault(_ path: String, in folder: String) -> SystemError? {
  let (present, made) = unsafe (lk_check_writable(path), lk_check_writable(folder))
  guard present < 0, made < 0 else { return nil }
  return SystemError(code: present == -ENOENT ? -made : -present, call: "write \(path)")
}

/// Ends the process at once, without a word to anyone.
package func exitNow(_ code: Int32) -> Never { lk_exit(code) }

/// Blocks the calling thread until `body` is done: for a main thread, which has nothing better to do. Never for a
/// reactor.
package func waitFor<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value
) -> Result<Value, any Error> {
  let box = Box<Result<Value, any Error>>()
  Task.detached {
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    box.value.withLock { $0 = result }
    box.done.signal()
  }
  box.done.wait()
  guard let result = box.value.withLock({ $0 }) else { preconditionFailure("signalled before it was done") }
  return result
}

private final class Box<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
  let done = Wakeups()
}

/// A file of any length, portion by portion.
package final class FileReader {
  private static let portionBytes = 65_536
  private let descriptor: Int32
  private let path: String
  private let isOpenedHere: Bool

  package init(_ path: String) throws {
    self.path = path
    isOpenedHere = true
    descriptor = unsafe lk_open_for_reading(path)
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "open \(path)") }
  }

  private init(_ descriptor: Int32, named name: String) {
    path = name
    isOpenedHere = false
    self.descriptor = descriptor
  }

  package static func ofStandardInput() -> FileReader { FileReader(0, named: "standard input") }

  deinit { if isOpenedHere { lk_close(descriptor) } }

  /// nil: the end.
  package func next() throws -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: FileReader.portionBytes)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe lk_read(descriptor, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw SystemError(code: Int32(clamping: -count), call: "read \(path)") }
    return count == 0 ? nil : Array(bytes.prefix(Int(count)))
  }
}
