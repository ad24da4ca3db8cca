internal import CLinux

/// A file that nobody but its owner can read, replaced as a whole.
package struct PrivateFile: Sendable {
  package let path: String

  package init(_ path: String) { self.path = path }

  /// The file can be read by others, so what is in it is no secret any more.
  package struct Exposed: Error, Hashable, CustomStringConvertible {
    package var path: String
    package var description: String { "\(path) can be read by others than its owner: chmod 600 it" }
  }

  /// nil: there is none.
  package func read(bytesMax: Int) throws -> [UInt8]? {
    let descriptor = unsafe lk_open_for_reading(path)
    if descriptor == -ENOENT { return nil }
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "open \(path)") }
    defer { lk_close(descriptor) }
    guard lk_is_exposed(descriptor) == 0 else { throw Exposed(path: path) }
    return try readRest(of: descriptor, bytesMax: bytesMax, call: "read \(path)")
  }

  /// Written beside its place and moved there, so that a reader sees the old or the new. Folders that are missing are
  /// made for the owner alone.
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

  /// With those that it is in. One that is there stays as it is.
  package static func makeFolder(_ path: String) throws {
    var folder = path.hasPrefix("/") ? "" : "."
    for step in path.split(separator: "/") {
      folder += "/" + step
      let made = unsafe lk_create_private_folder(folder)
      guard made == 0 || made == -EEXIST else { throw SystemError(code: -made, call: "make the folder \(folder)") }
    }
  }

  /// Keeps others who ask for it from the file, from before it is read until it is replaced. A file beside it is held,
  /// since the file itself is another one after each write.
  package final class Lock {
    private let descriptor: Int32

    /// Waits for whoever has it, in this process too.
    package init(of file: PrivateFile) throws {
      try file.makeItsFolder()
      let path = file.path + ".lock"
      descriptor = unsafe lk_open_lock(path)
      guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "open \(path)") }
      // In a folder of everybody's, one that somebody else has made would be held for as long as he likes.
      guard lk_is_exposed(descriptor) == 0 else { throw Exposed(path: path) }
      let held = lk_hold_in_turn(descriptor)
      guard held == 0 else { throw SystemError(code: -held, call: "lock \(path)") }
    }

    /// Also where `init` throws once it has opened the file.
    deinit { lk_close(descriptor) }
  }
}
