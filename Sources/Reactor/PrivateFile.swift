internal import CLinux

/// A file that only its owner can read. Each write replaces the whole file.
package struct PrivateFile: Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// An error for a file that other users can read, so that its content is no longer secret.
  package struct Exposed: Error, Hashable, CustomStringConvertible {
    package var path: String
    package var description: String { "users other than its owner can read \(path); run `chmod 600` on it" }
  }

  /// Reads the file. Returns nil if it does not exist.
  package func read(bytesMax: Int) throws -> [UInt8]? {
    let descriptor = unsafe lk_open_for_reading(path)
    if descriptor == -ENOENT { return nil }
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "open \(path)") }
    defer { lk_close(descriptor) }
    guard lk_is_exposed(descriptor) == 0 else { throw Exposed(path: path) }
    return try readRest(of: descriptor, bytesMax: bytesMax, call: "read \(path)")
  }

  /// Writes a temporary file and renames it, so that a reader sees the old or the new content. Creates missing folders
  /// for the owner only.
  package func write(_ bytes: [UInt8]) throws {
    try makeItsFolder()
    let draft = "\(path).\(UInt64.random(in: 0 ... .max))"
    let descriptor = unsafe lk_create_private(draft)
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "create \(draft)") }
    let refused = writeUntilRefused(bytes, to: descriptor).code
    let synced = lk_sync(descriptor)
    lk_close(descriptor)
    let failed = refused > 0 ? -refused : synced
    let moved = failed < 0 ? failed : unsafe lk_rename(draft, path)
    guard moved == 0 else {
      unsafe lk_remove(draft)
      throw SystemError(code: -moved, call: "write \(path)")
    }
  }

  private func makeItsFolder() throws {
    if let slash = path.lastIndex(of: "/") { try PrivateFile.makeFolder(String(path[..<slash])) }
  }

  /// Creates a folder and its missing parents. An existing folder does not change.
  package static func makeFolder(_ path: String) throws {
    var folder = path.hasPrefix("/") ? "" : "."
    for step in path.split(separator: "/") {
      folder += "/" + step
      let made = unsafe lk_create_private_folder(folder)
      guard made == 0 || made == -EEXIST else { throw SystemError(code: -made, call: "create the folder \(folder)") }
    }
  }

  /// An exclusive lock on a private file, from before a read until after the write. It locks a separate file, because
  /// each write replaces the file itself.
  package final class Lock {
    private let descriptor: Int32

    /// Waits until no other process, and no other thread of this process, holds the lock.
    package init(of file: PrivateFile) throws {
      try file.makeItsFolder()
      let path = file.path + ".lock"
      descriptor = unsafe lk_open_lock(path)
      guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "open \(path)") }
      // In a world-writable folder, another user could create the lock file and hold it indefinitely.
      guard lk_is_exposed(descriptor) == 0 else { throw Exposed(path: path) }
      let held = lk_hold_in_turn(descriptor)
      guard held == 0 else { throw SystemError(code: -held, call: "lock \(path)") }
    }

    /// Also runs if `init` throws after it has opened the file.
    deinit { lk_close(descriptor) }
  }
}
