internal import Synchronization

/// The callers by name, for handlers that act for another caller than the one that calls them.
///
/// The table of callers needs the served methods, and their handlers need the directory. The directory is therefore
/// empty until the server has made the table.
package final class CallerDirectory: Sendable {
  private let table = Mutex<CallerTable?>(nil)

  package init() {}

  package func replace(_ table: CallerTable) { self.table.withLock { $0 = table } }

  /// nil: no identified caller has the name.
  package subscript(name: String) -> Caller? { table.withLock { $0?.caller(named: name) } }
}
