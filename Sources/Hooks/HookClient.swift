internal import Client
internal import HTTPClient
internal import Identity
package import Observability
internal import Reactor
internal import Synchronization

/// Why a hook gave no valid answer. Contains no text of the hook.
enum HookFault: Error, Hashable, CustomStringConvertible {
  case timedOut
  /// The deadline of the call came before the time limit of the hook.
  case cutShort
  case unavailable(String)
  case invalid(String)
  case breakerOpen
  /// Too many calls of the hook are in progress.
  case full

  var description: String {
    switch self {
    case .timedOut: "it does not answer in time"
    case .cutShort: "the deadline of the call came first"
    case .unavailable(let why): "it is unavailable: \(why)"
    case .invalid(let why): "its answer is invalid: \(why)"
    case .breakerOpen: "it failed repeatedly and is not called for a while"
    case .full: "too many calls wait for it"
    }
  }

  /// What the fault says about the hook. A caller's short deadline must not open the breaker for all others.
  var evidence: Breaker.End {
    switch self {
    case .timedOut, .unavailable, .invalid: .failed
    case .cutShort, .breakerOpen, .full: .unknown
    }
  }
}

/// One hook: its connection, and the limits of the calls to it. The thread of the connection ends with this object.
package final class HookClient: Sendable {
  /// Where the hook is, and the limits of its calls.
  package struct Target: Hashable, Sendable {
    let name: String
    let host: String
    let port: UInt16
    let isPlain: Bool
    let authorityFile: String
    let certificateFile: String
    let keyFile: String
    let timeoutMillis: Int64
    let concurrentMax: Int

    /// - Parameters:
    ///   - isPlain: without TLS, for a hook on this machine.
    ///   - authorityFile: PEM; empty: the authorities of the system.
    ///   - certificateFile: PEM; empty: the server presents none.
    package init(
      name: String, host: String, port: UInt16, isPlain: Bool, authorityFile: String, certificateFile: String,
      keyFile: String, timeoutMillis: Int64, concurrentMax: Int
    ) {
      self.name = name
      self.host = host
      self.port = port
      self.isPlain = isPlain
      self.authorityFile = authorityFile
      self.certificateFile = certificateFile
      self.keyFile = keyFile
      self.timeoutMillis = timeoutMillis
      self.concurrentMax = concurrentMax
    }

    /// Maximum size of an answer. The texts of a valid one have less than half of it.
    static let answerBytesMax = 16 << 10

    var endpoint: EndpointSettings {
      var endpoint = EndpointSettings(host: host, port: port, authorityFile: authorityFile)
      endpoint.isPlain = isPlain
      endpoint.certificateFile = certificateFile
      endpoint.keyFile = keyFile
      endpoint.connectMillis = timeoutMillis
      endpoint.answerBytesMax = Target.answerBytesMax
      return endpoint
    }
  }

  private struct State {
    var breaker = Breaker(FetchLimits())
    var running = 0
  }

  private enum Entry {
    case pass(asTrial: Bool)
    case refuse(HookFault)
  }

  package var name: String { target.name }
  private let target: Target
  private let inbox = HookInbox()
  private let state = Mutex(State())
  private let failure: LastingFailure

  /// Starts the thread of the connection.
  package init(_ target: Target, _ log: Log) throws {
    self.target = target
    failure = LastingFailure(log, "the hook \(target.name) fails", over: "the hook \(target.name) answers again")
    try startPart(named: "hook-\(target.name)") { [inbox, target] in
      let thread = try HookThread(target, inbox)
      return { thread.run() }
    }
  }

  deinit { inbox.close() }

  /// Whether calls fail immediately, because the hook failed repeatedly.
  package var isOpen: Bool { state.withLock { !$0.breaker.isClosed } }

  func ask(
    _ question: HookQuestion, _ call: CallFacts, traceParent: String?,
    check: @escaping @Sendable (HookAnswer) -> String?
  ) async -> Result<HookAnswer, HookFault> {
    let isTrial: Bool
    switch admit() {
    case .refuse(let fault): return .failure(fault)
    case .pass(let asTrial): isTrial = asTrial
    }
    let ownEnd = monotonicMillis() + target.timeoutMillis
    let order = HookOrder(
      endMillis: min(ownEnd, call.deadlineMillis), isCutShort: call.deadlineMillis < ownEnd, traceParent: traceParent)
    let answered = await withCheckedContinuation { continuation in
      inbox.put(.of(question, call, order) { continuation.resume(returning: $0) })
    }
    let result = answered.flatMap { answer in check(answer).map { .failure(.invalid($0)) } ?? .success(answer) }
    note(result, asTrial: isTrial)
    return result
  }

  private func admit() -> Entry {
    state.withLock { state in
      guard state.running < target.concurrentMax else { return .refuse(.full) }
      let answer = state.breaker.asked(at: .now)
      guard answer != .refuse else { return .refuse(.breakerOpen) }
      state.running += 1
      return .pass(asTrial: answer == .trial)
    }
  }

  private func note(_ result: Result<HookAnswer, HookFault>, asTrial: Bool) {
    let end: Breaker.End
    switch result {
    case .success:
      failure.passed()
      end = .answered
    case .failure(let fault):
      end = fault.evidence
      if end == .failed { failure.failed(fault) }
    }
    state.withLock { state in
      state.running -= 1
      state.breaker.ended(end, asTrial: asTrial, at: .now)
    }
  }
}

/// When a call to a hook must have ended, and its trace.
struct HookOrder: Sendable {
  /// On the monotonic clock.
  var endMillis: Int64
  /// Whether the deadline of the call ends it.
  var isCutShort: Bool
  var traceParent: String?

  var lateness: HookFault { isCutShort ? .cutShort : .timedOut }
}
