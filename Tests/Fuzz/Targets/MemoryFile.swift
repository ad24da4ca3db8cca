import Glibc

/// A file without a name, which is removed with this value.
struct MemoryFile: ~Copyable {
  private let descriptor: CInt

  var path: String { "/proc/self/fd/\(descriptor)" }

  init(_ bytes: [UInt8]) {
    var name = Array("/dev/shm/fuzz-XXXXXX".utf8CString)
    descriptor = unsafe mkstemp(&name)
    unsafe unlink(name)
    let written = unsafe write(descriptor, bytes, bytes.count)
    law(descriptor >= 0 && written == bytes.count, "a file in memory cannot be made")
  }

  deinit { close(descriptor) }
}
