internal import CLinux

/// A regular file that is read at any offset, from any thread. It stays readable after another file has its name.
package final class RandomAccessFile: Sendable {
  /// What differs after the file was changed or replaced.
  package struct State: Hashable, Sendable {
    package var bytes: Int64
    package var changedNanos: Int64
    package var inode: UInt64
  }

  package let path: String
  /// The state at the time of opening.
  package let state: State
  private let descriptor: Int32

  package init(_ path: String) throws(SystemError) {
    let call = "open \(path)"
    let descriptor = unsafe lk_open_for_reading(path)
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: call) }
    let found = lk_state_of_file(descriptor)
    guard found.code == 0 else {
      lk_close(descriptor)
      throw SystemError(code: -found.code, call: call)
    }
    self.path = path
    self.descriptor = descriptor
    state = State(bytes: found.bytes, changedNanos: found.changed_nanos, inode: found.inode)
  }

  deinit { lk_close(descriptor) }

  /// Returns the bytes at an offset: fewer than `bytesMax` only at the end of the file.
  package func read(at offset: Int64, bytesMax: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    var count = 0
    while count < bytesMax {
      let read = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe lk_read_at(descriptor, buffer.baseAddress! + count, buffer.count - count, offset + Int64(count))
      }
      guard read >= 0 else { throw SystemError(code: Int32(clamping: -read), call: "read \(path)") }
      if read == 0 { break }
      count += Int(read)
    }
    bytes.removeLast(bytesMax - count)
    return bytes
  }
}
