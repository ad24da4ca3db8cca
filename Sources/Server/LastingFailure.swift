internal import Synchronization

/// What is tried again and again: the log says that it has begun to fail, and that it goes again, once each.
final class LastingFailure: Sendable {
  private let log: Log
  private let failing: String
  private let over: String
  private let isFailing = Atomic<Bool>(false)

  /// - Parameter failing: the line that it fails; `over`: that it goes again.
  init(_ log: Log, _ failing: String, over: String) {
    self.log = log
    self.failing = failing
    self.over = over
  }

  func failed(_ error: any Error) {
    if !isFailing.exchange(true, ordering: .acquiringAndReleasing) { log.error(failing, ["why": "\(error)"]) }
  }

  func passed() {
    if isFailing.exchange(false, ordering: .acquiringAndReleasing) { log.info(over) }
  }
}
