import FoundationEssentials
import Glibc

/// A folder that only this user can read. It is removed with its contents when the last reference is released.
package final class TemporaryFolder: Sendable {
  private struct NotMade: Error {}

  package let path: String

  package init() throws {
    var template = Array("/tmp/latchkey-test-XXXXXX".utf8CString)
    guard let made = unsafe mkdtemp(&template) else { throw NotMade() }
    path = unsafe String(cString: made)
  }

  deinit { remove() }

  /// Removes it early, for a process that ends without deinit; open files stay usable.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// Makes a folder for one test, and removes it afterwards.
package func withFolder<R>(_ body: (String) async throws -> R) async throws -> R {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  return try await body(folder.path)
}

/// Replaces a file by a text.
package func write(_ text: String, to path: String) throws {
  try Data(text.utf8).write(to: URL(filePath: path))
}
