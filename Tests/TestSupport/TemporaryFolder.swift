import FoundationEssentials
import Glibc

/// A folder of its own, for nobody else to read; gone with all that is in it when nobody holds it any more.
package final class TemporaryFolder: Sendable {
  private struct NotMade: Error {}

  package let path: String

  package init() throws {
    var template = Array("/tmp/latchkey-test-XXXXXX".utf8CString)
    guard let made = unsafe mkdtemp(&template) else { throw NotMade() }
    path = unsafe String(cString: made)
  }

  deinit { remove() }

  /// For a process that will not live to see its end; open files stay usable.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// A folder of its own for one test, gone after it.
package func withFolder<R>(_ body: (String) async throws -> R) async throws -> R {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  return try await body(folder.path)
}
