// Hooks: calls to the operator's own rules.
//
// Owns: the choice of a hook by event and caller, its connection, deadlines and circuit breaker, the conversion of
// questions and answers, and the measurement of calls.
// Does not own: when a hook is asked and what its answer changes (Identity), the messages (HookMessages), and the
// connection itself (Client).
// Read next: HookClient.swift, HookThread.swift, Conversion.swift.

internal import GRPC
package import Identity
package import Observability
internal import Reactor
package import Store
internal import Tracing

/// The hooks of the configuration. The first one with the event and the caller is asked.
package final class HookSet: Identity.Hooks {
  package struct Rule: Sendable {
    package let client: HookClient
    let events: Set<HookEvent>
    /// Empty: all callers.
    let callers: Set<String>
    let allowsOnFailure: Bool

    package init(_ client: HookClient, events: [HookEvent], callers: [String], allowsOnFailure: Bool) {
      self.client = client
      self.events = Set(events)
      self.callers = Set(callers)
      self.allowsOnFailure = allowsOnFailure
    }

    fileprivate func applies(to event: HookEvent, _ caller: CallerName) -> Bool {
      events.contains(event) && (callers.isEmpty || callers.contains(caller.text))
    }
  }

  private let rules: [Rule]
  private let metrics: HookMetrics
  private let tracer: CallTracer?

  package init(_ rules: [Rule], _ metrics: HookMetrics, tracer: CallTracer?) {
    self.rules = rules
    self.metrics = metrics
    self.tracer = tracer
  }

  package func areAsked(about event: HookEvent, by caller: CallerName) -> Bool {
    rules.contains { $0.applies(to: event, caller) }
  }

  package func ask(
    _ question: HookQuestion, _ call: CallFacts, check: @escaping @Sendable (HookAnswer) -> String?
  ) async -> HookReply {
    // The caller asks the same set that reported that a hook applies.
    guard let rule = rules.first(where: { $0.applies(to: question.event, call.caller) }) else {
      return .failed(hook: "", isAllowed: false)
    }
    let begunNanos = monotonicNanos()
    let result = await traced(question.event, rule.client.name) {
      await rule.client.ask(question, call, traceParent: ServiceContext.current?.span?.traceParent, check: check)
    }
    metrics.ended(rule.client.name, question.event, HookEnd(result), nanos: monotonicNanos() - begunNanos)
    switch result {
    case .success(let answer): return .answered(answer, by: rule.client.name)
    case .failure(let fault):
      // Otherwise a client could avoid the rules with a deadline that ends the hook's call but not the commit.
      return .failed(hook: rule.client.name, isAllowed: rule.allowsOnFailure && fault != .cutShort)
    }
  }

  private func traced(
    _ event: HookEvent, _ hook: String, _ work: () async -> Result<HookAnswer, HookFault>
  ) async -> Result<HookAnswer, HookFault> {
    guard let tracer else { return await work() }
    let attributes: SpanAttributes = ["latchkey.hook": .string(hook), "latchkey.hook_event": .string(event.rawValue)]
    let result = try? await tracer.within("hook", .client, attributes) { span in
      let result = await work()
      span?.attributes["latchkey.outcome"] = HookEnd(result).rawValue
      if case .failure = result { span?.setStatus(SpanStatus(code: .error)) }
      return result
    }
    return result ?? .failure(.unavailable("it was not called"))
  }
}

extension SpanIdentity {
  /// The value of the field `traceparent` for calls below this span, which is sampled.
  fileprivate var traceParent: String {
    "00-\(traceID.text)-\(TraceID(high: 0, low: spanID).text.suffix(16))-01"
  }
}

extension HookEnd {
  fileprivate init(_ result: Result<HookAnswer, HookFault>) {
    self = switch result {
    case .success(.allow): .allowed
    case .success(.deny): .denied
    case .failure(.timedOut), .failure(.cutShort): .timedOut
    case .failure(.unavailable): .unavailable
    case .failure(.invalid): .invalid
    case .failure(.breakerOpen): .breakerOpen
    case .failure(.full): .overloaded
    }
  }
}
