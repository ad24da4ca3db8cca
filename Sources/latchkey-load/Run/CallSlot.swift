internal import Client
internal import Reactor

/// A slot for one call in flight. It runs one iteration at a time, one call after the other.
final class CallSlot {
  let route: Route
  private unowned let runner: Runner
  private(set) var iteration: Iteration?
  private(set) var call: (any Call)?
  /// The number of times that the current call was sent again.
  private(set) var resends = 0
  /// The intended start of the iteration.
  private(set) var begunNanos: Int64 = 0
  /// The intended start of the current call.
  private(set) var intendedNanos: Int64 = 0
  /// The time of the latest response.
  private(set) var nowNanos: Int64 = 0

  init(_ route: Route, _ runner: Runner) {
    self.route = route
    self.runner = runner
  }

  func begin(_ iteration: Iteration, intendedNanos: Int64) {
    self.iteration = iteration
    begunNanos = intendedNanos
    nowNanos = intendedNanos
  }

  /// Sends the next call of the iteration. It is due at the response to the previous one.
  func send(_ call: any Call) {
    self.call = call
    intendedNanos = nowNanos
    resends = 0
    call.send(from: self)
  }

  func resend() {
    resends += 1
    call?.send(from: self)
  }

  /// Receives the result of the current call.
  func receive<Response>(_ result: Result<Response, CallStatus>, _ then: (Response, Int64) -> Step) {
    nowNanos = monotonicNanos()
    switch result {
    case .success(let response): runner.answered(self, then(response, nowNanos))
    case .failure(let status): runner.failed(self, status)
    }
  }

  func end() -> Iteration? {
    defer { iteration = nil }
    route.endIteration()
    return iteration
  }
}
