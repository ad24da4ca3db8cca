internal import Store
internal import Synchronization

/// Numbers of callers as labels of metrics. They stay the same when the configuration is read again.
///
/// The number of labels is bounded: further callers share `other`.
package final class CallerLabels: Sendable {
  /// Maximum number of callers with a label of their own.
  package static let namedMax = 64
  /// Callers of methods that require no identification.
  static let anyone = 0
  private static let other = 1
  /// Number of all labels.
  package static let count = namedMax + 2

  private let names = Mutex<[String]>(["anyone", "other"])

  package init() {}

  /// The labels in use, by number.
  package var all: [String] { names.withLock(\.self) }

  /// The label of a number; `other` for a number of another table, so that a metric never ends the server.
  package func text(_ number: Int) -> String {
    names.withLock { names in names.indices.contains(number) ? names[number] : names[CallerLabels.other] }
  }

  func number(of name: CallerName) -> Int {
    names.withLock { names in
      if let number = names.firstIndex(of: name.text) { return number }
      guard names.count < CallerLabels.count else { return CallerLabels.other }
      names.append(name.text)
      return names.count - 1
    }
  }
}
