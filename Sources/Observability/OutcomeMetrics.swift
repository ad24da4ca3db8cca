internal import Callers
internal import CoreMetrics
package import GRPC
internal import Protobuf
package import Services
internal import Identity
internal import Synchronization

/// Counters of the outcomes of sign-ins by provider, and of all outcomes by caller. A counter exists from its first
/// event on, because most combinations never occur.
package final class OutcomeMetrics: Sendable {
  private struct SignIn: Hashable {
    var method: String
    var providerID: String
    var outcome: String
  }

  private struct OfCaller: Hashable {
    var label: Int
    var outcome: String
  }

  private struct State {
    /// The configured providers, and the names of sign-in methods without one. Others share the label `none`.
    var providers: Set<String> = []
    var signIns: [SignIn: Counter] = [:]
    var callers: [OfCaller: Counter] = [:]
  }

  private let registry: MetricsRegistry
  private let labels: CallerLabels
  private let state = Mutex(State())

  /// Label of a success that has no outcome of its own.
  private static let succeeded = "ok"
  private static let signIn = "/latchkey.v1.AuthService/SignIn"

  init(_ registry: MetricsRegistry, providers: [String], callers labels: CallerLabels) {
    self.registry = registry
    self.labels = labels
    registry.describe(Catalogue.signIns)
    registry.describe(Catalogue.callerOutcomes)
    add(providers: providers + CallNotes.withoutProvider)
    countCaller(Caller.anyone.label, CallOutcome.session.rawValue, by: 0)
  }

  /// Creates the counters of configured providers that have none yet.
  func add(providers: [String]) {
    let new = Set(providers).subtracting(state.withLock(\.providers))
    state.withLock { $0.providers.formUnion(new) }
    // A rate needs a start value.
    for provider in new.sorted() { countSignIn(OutcomeMetrics.signIn, provider, CallOutcome.session.rawValue, by: 0) }
  }

  package func failed(_ context: CallContext, _ error: any Error, _ code: GRPC.Status.Code) {
    switch error {
    case let failure as Failure: ended(context, failure: failure.reason.rawValue)
    case ProtobufError.text: ended(context, failure: Failure.Reason.invalidField.rawValue)
    default: ended(context, failure: StatusName.all[code.rawValue])
    }
  }

  /// Counts the end of a call. `failure` is nil for a success, and a reason or the name of a status otherwise.
  package func ended(_ context: CallContext, failure: String? = nil) {
    let content = context.notes?.content
    let outcome = failure ?? content?.outcome?.rawValue ?? OutcomeMetrics.succeeded
    if let providerID = content?.providerID {
      let isKnown = state.withLock { $0.providers.contains(providerID) }
      countSignIn(context.path, isKnown ? providerID : CallNotes.unknown, outcome)
    }
    // Other successes are in `latchkey_caller_calls_total`.
    if content?.outcome != nil || failure != nil {
      countCaller(context.caller.label, outcome)
    }
  }

  private func countSignIn(_ path: String, _ providerID: String, _ outcome: String, by count: Int = 1) {
    let key = SignIn(method: String(path.dropFirst()), providerID: providerID, outcome: outcome)
    state.withLock { state in
      let counter = state.signIns[key] ?? Counter(
        label: Catalogue.signIns.name,
        dimensions: [("method", key.method), ("provider", providerID), ("outcome", outcome)], factory: registry)
      state.signIns[key] = counter
      counter.increment(by: count)
    }
  }

  private func countCaller(_ label: Int, _ outcome: String, by count: Int = 1) {
    let key = OfCaller(label: label, outcome: outcome)
    state.withLock { state in
      let counter = state.callers[key] ?? Counter(
        label: Catalogue.callerOutcomes.name, dimensions: [("caller", labels.text(label)), ("outcome", outcome)],
        factory: registry)
      state.callers[key] = counter
      counter.increment(by: count)
    }
  }
}
