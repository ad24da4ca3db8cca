internal import CLinux
internal import Synchronization

/// Starts a named, detached operating-system thread that runs `body` once. `body` must report its own end if another
/// thread waits for it.
/// - Parameter niceness: A higher value runs the thread after threads with a lower value on the same core.
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
  // Swift frames are large. Password hashing allocates none of its memory on this stack.
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

/// Runs blocking work on a thread of its own, so that a disk that hangs never occupies a thread of the task pool.
package func onThread<Value: Sendable>(
  named name: String, _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
    do {
      try tryStartThread(named: name) { continuation.resume(with: Result { try body() }) }
    } catch {
      continuation.resume(throwing: error)
    }
  }
}

/// Starts a thread that the process cannot run without. Failure ends the process.
package func startThread(named name: String, niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
  do throws(SystemError) {
    try tryStartThread(named: name, niceness: niceness) { body() }
  } catch {
    preconditionFailure("cannot start a thread: \(error)")
  }
}

/// Asks the kernel to run the calling thread sooner after it wakes, even if other threads compute on its core. For
/// threads that wake often and briefly. Kernels before 6.12 ignore the request.
package func bePrompt() { lk_be_prompt() }

/// Starts a thread that calls `make` and then runs the function that `make` returns. Returns after `make` succeeds, or
/// throws its error or that of the thread: a server without one of its parts would look complete.
package func startPart(
  named name: String, niceness: Int32 = 0, _ make: @escaping @Sendable () throws -> () -> Void
) throws {
  let made = Wakeups()
  let failure = Mutex<(any Error)?>(nil)
  try tryStartThread(named: name, niceness: niceness) {
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

/// Pauses the calling thread. Only for threads that no other thread waits for.
package func sleepThread(millis: UInt32) {
  var left = timespec(tv_sec: Int(millis / 1_000), tv_nsec: Int(millis % 1_000) * 1_000_000)
  var rest = timespec()
  // A signal interrupts the pause.
  while unsafe nanosleep(&left, &rest) != 0 { left = rest }
}

/// Blocks all signals that end or reload the server, so that only `waitForSignal` receives them. Call it once, on the
/// main thread, before any other thread starts.
package func blockSignals() {
  lk_ignore_sigpipe()
  lk_block_signals()
}

/// Ignores SIGPIPE. A write to a closed connection then fails and does not end the process.
package func ignoreBrokenPipes() { lk_ignore_sigpipe() }

package enum ServerSignal: Sendable {
  case terminate
  case reload
  case rotateKeys
}

/// Blocks the calling thread until SIGTERM, SIGINT, SIGHUP or SIGUSR1 arrives.
package func waitForSignal() -> ServerSignal {
  switch lk_wait_signal() {
  case SIGHUP: .reload
  case SIGUSR1: .rotateKeys
  default: .terminate
  }
}

/// Protects the keys in this process: disables core dumps and tracing by other processes. Also raises the limit on open
/// files. Call it before the process opens any long-lived file.
package func hardenProcess() {
  lk_hold_standard_descriptors()
  _ = lk_forbid_dumps()
  _ = lk_raise_file_limit()
}

/// Returns the wall-clock time in milliseconds since 1970.
package func wallMillis() -> Int64 { lk_wall_millis() }

/// Returns the monotonic time in milliseconds.
package func monotonicMillis() -> Int64 { lk_monotonic_millis() }

/// Returns the monotonic time in nanoseconds.
package func monotonicNanos() -> Int64 { lk_monotonic_nanos() }

/// Closes a descriptor that no object owns.
package func closeDescriptor(_ descriptor: Int32) { lk_close(descriptor) }

/// Writes all bytes to a blocking descriptor. Returns the number of bytes written. Bytes after a write error are lost.
@discardableResult
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int { writeUntilRefused(bytes, to: descriptor).count }

/// Writes all bytes to standard output. Throws the error of an incomplete write, so that no reader takes a part for the
/// whole.
package func tryWriteOutput(_ bytes: [UInt8]) throws(SystemError) {
  let code = writeUntilRefused(bytes, to: 1).code
  guard code == 0 else { throw SystemError(code: code, call: "standard output") }
}

/// Writes bytes until an error. Returns the number of bytes written and the errno, or 0 if all were written.
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

/// Returns the number of processors that this process may use.
package func processorCount() -> Int { max(1, Int(lk_processors())) }

/// Reads a small file. Returns nil if it cannot be read or exceeds `bytesMax`.
package func readFile(_ path: String, bytesMax: Int) -> [UInt8]? { try? wholeFile(path, bytesMax: bytesMax) }

/// Reads a small file. Throws EFBIG if it exceeds `bytesMax`.
package func wholeFile(_ path: String, bytesMax: Int) throws(SystemError) -> [UInt8] {
  let call = "read \(path)"
  let descriptor = unsafe lk_open_for_reading(path)
  guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: call) }
  defer { lk_close(descriptor) }
  return try readRest(of: descriptor, bytesMax: bytesMax, call: call)
}

/// Reads the rest of a blocking descriptor. Throws EFBIG if it exceeds `bytesMax`.
func readRest(of descriptor: Int32, bytesMax: Int, call: String) throws(SystemError) -> [UInt8] {
  var bytes: [UInt8] = []
  var count = 0
  while count <= bytesMax {
    // Most files are much smaller than their limit.
    if count == bytes.count {
      bytes.append(contentsOf: repeatElement(0, count: min(bytesMax + 1 - count, max(16_384, count))))
    }
    let read = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe lk_read(descriptor, buffer.baseAddress! + count, buffer.count - count)
    }
    guard read >= 0 else { throw SystemError(code: Int32(clamping: -read), call: call) }
    if read == 0 { return Array(bytes[..<count]) }
    count += Int(read)
  }
  throw SystemError(code: EFBIG, call: call)
}

/// Returns whether all users, or the file's group, have access to a secret file. Returns false if the file does not
/// exist. systemd and Kubernetes let a group read secrets. Kubernetes also lets the group write to writable volumes.
package func anybodyMayRead(_ path: String) -> Bool { fileMode(path) & 0o004 != 0 }
package func anybodyMayWrite(_ path: String) -> Bool { fileMode(path) & 0o002 != 0 }
package func groupMayWrite(_ path: String) -> Bool { fileMode(path) & 0o020 != 0 }
private func fileMode(_ path: String) -> Int32 { max(0, unsafe lk_file_mode(path)) }

/// Returns the error that prevents writing a file or folder and creating it in `folder`. Returns nil if either is
/// possible.
package func writeFault(_ path: String, in folder: String) -> SystemError? {
  let (present, made) = unsafe (lk_check_writable(path), lk_check_writable(folder))
  guard present < 0, made < 0 else { return nil }
  return SystemError(code: present == -ENOENT ? -made : -present, call: "write \(path)")
}

/// Ends the process immediately, without cleanup or output.
package func exitNow(_ code: Int32) -> Never { lk_exit(code) }

/// Blocks the calling thread until `body` is done. Only for a main thread, never for a reactor.
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
  guard let result = box.value.withLock({ $0 }) else { preconditionFailure("signaled without a result") }
  return result
}

private final class Box<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
  let done = Wakeups()
}

/// A reader for files of any size, one portion at a time.
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

  /// Returns the next portion, or nil at the end.
  package func next() throws -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: FileReader.portionBytes)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe lk_read(descriptor, $0.baseAddress, $0.count) }
    guard count >= 0 else { throw SystemError(code: Int32(clamping: -count), call: "read \(path)") }
    return count == 0 ? nil : Array(bytes.prefix(Int(count)))
  }
}
