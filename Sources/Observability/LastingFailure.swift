internal import Synchronization

/// A repeated operation, whose log states once that it started to fail and once that it recovered.
package final class LastingFailure: Sendable {
  private let log: Log
  private let failing: String
  private let over: String
  private let isFailing = Atomic<Bool>(false)

  /// - Parameters:
  ///   - failing: the log message for the start of the failure.
  ///   - over: the log message for the recovery.
  package init(_ log: Log, _ failing: String, over: String) {
    self.log = log
    self.failing = failing
    self.over = over
  }

  package func failed(_ error: any Error) {
    if !isFailing.exchange(true, ordering: .acquiringAndReleasing) { log.error(failing, ["why": "\(error)"]) }
  }

  package func passed() {
    if isFailing.exchange(false, ordering: .acquiringAndReleasing) { log.info(over) }
  }
}
