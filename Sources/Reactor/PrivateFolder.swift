internal import CLinux

/// A folder of files that nobody but its owner can read, and that one process writes into.
package final class PrivateFolder: Sendable {
  package let path: String
  private let descriptor: Int32

  /// Another process holds it.
  package struct Held: Error, Hashable, CustomStringConvertible {
    package var path: String
    package var description: String { "\(path) is held by another process: one folder has one owner" }
  }

  /// Made where it is missing, and held until the end of this object.
  package init(_ path: String) throws {
    self.path = path
    try PrivateFile.makeFolder(path)
    let opened = unsafe lk_open_folder(path)
    guard opened >= 0 else { throw SystemError(code: -opened, call: "open the folder \(path)") }
    guard lk_hold(opened) == 0 else {
      lk_close(opened)
      throw Held(path: path)
    }
    // Last: once all is set, `deinit` runs after a throw as well, and would close what is another's by then.
    descriptor = opened
  }

  deinit { lk_close(descriptor) }

  /// Of all files and folders in it, in their order.
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

  /// Makes an empty file.
  package func create(_ name: String) throws {
    let file = unsafe lk_create_private(place(of: name))
    guard file >= 0 else { throw SystemError(code: -file, call: "create \(place(of: name))") }
    lk_close(file)
  }

  /// What the file holds survives a power cut from now on; its name does once the folder was synced too.
  package func sync(_ name: String) throws {
    let file = unsafe lk_open_for_reading(place(of: name))
    guard file >= 0 else { throw SystemError(code: -file, call: "open \(place(of: name))") }
    defer { lk_close(file) }
    try PrivateFolder.check(lk_sync(file), "sync \(place(of: name))")
  }

  package func rename(_ name: String, to other: String) throws {
    try PrivateFolder.check(unsafe lk_rename(place(of: name), place(of: other)), "rename \(place(of: name))")
  }

  /// Does nothing where it is not there.
  package func remove(_ name: String) { unsafe lk_remove(place(of: name)) }

  /// The names, as they are now, survive a power cut.
  package func sync() throws { try PrivateFolder.check(lk_sync(descriptor), "sync the folder \(path)") }

  package func place(of name: String) -> String { "\(path)/\(name)" }

  private static func check(_ result: Int32, _ call: String) throws {
    guard result == 0 else { throw SystemError(code: -result, call: call) }
  }
}
