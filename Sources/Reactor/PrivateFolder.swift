internal import CLinux

/// A folder of files that only its owner can read. One process at a time may write to it.
package final class PrivateFolder: Sendable {
  package let path: String
  private let descriptor: Int32

  /// An error for a folder that another process uses.
  package struct Held: Error, Hashable, CustomStringConvertible {
    package var path: String
    package var description: String { "\(path) is held by another process; only one process can use it" }
  }

  /// Opens the folder and locks it until this object is released. Creates the folder if it does not exist.
  package init(_ path: String) throws {
    self.path = path
    try PrivateFile.makeFolder(path)
    let opened = unsafe lk_open_folder(path)
    guard opened >= 0 else { throw SystemError(code: -opened, call: "open the folder \(path)") }
    guard lk_hold(opened) == 0 else {
      lk_close(opened)
      throw Held(path: path)
    }
    // Set last: once all properties are set, `deinit` also runs after a throw. It would then close a descriptor that
    // another object may use.
    descriptor = opened
  }

  deinit { lk_close(descriptor) }

  /// Returns the sorted names of all files and folders in this folder.
  package func names() throws -> [String] {
    var code: Int32 = 0
    guard let list = unsafe lk_list(path, &code) else { throw SystemError(code: code, call: "list \(path)") }
    defer { unsafe lk_end_list(list) }
    var names: [String] = []
    while let next = unsafe lk_next_name(list, &code) {
      let name = unsafe String(cString: next)
      if name != ".", name != ".." { names.append(name) }
    }
    guard code == 0 else { throw SystemError(code: code, call: "list \(path)") }
    return names.sorted()
  }

  /// Creates an empty file.
  package func create(_ name: String) throws {
    let file = unsafe lk_create_private(place(of: name))
    guard file >= 0 else { throw SystemError(code: -file, call: "create \(place(of: name))") }
    lk_close(file)
  }

  /// Makes the content of a file survive a power failure. Its name survives after a sync of the folder.
  package func sync(_ name: String) throws {
    let file = unsafe lk_open_for_reading(place(of: name))
    guard file >= 0 else { throw SystemError(code: -file, call: "open \(place(of: name))") }
    defer { lk_close(file) }
    try PrivateFolder.check(lk_sync(file), "sync \(place(of: name))")
  }

  package func rename(_ name: String, to other: String) throws {
    try PrivateFolder.check(unsafe lk_rename(place(of: name), place(of: other)), "rename \(place(of: name))")
  }

  /// Removes a file. Does nothing if it does not exist.
  package func remove(_ name: String) { unsafe lk_remove(place(of: name)) }

  /// Makes the current file names survive a power failure.
  package func sync() throws { try PrivateFolder.check(lk_sync(descriptor), "sync the folder \(path)") }

  package func place(of name: String) -> String { "\(path)/\(name)" }

  private static func check(_ result: Int32, _ call: String) throws {
    guard result == 0 else { throw SystemError(code: -result, call: call) }
  }
}
