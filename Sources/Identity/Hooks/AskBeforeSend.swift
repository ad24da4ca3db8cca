import Store

extension Environment {
  /// Whether hooks rule on the messages of this caller.
  func asksBeforeSend(_ call: CallFacts) -> Bool {
    hooks?.areAsked(about: .beforeSend, by: call.caller) ?? false
  }

  /// Asks the hooks whether a message may be sent. Throws if not.
  ///
  /// The question precedes the decision and contains nothing of an account. So the answer is the same for known and
  /// unknown recipients, and is asked once for each call.
  /// - Parameter throttle: counts a refused message like one that was sent, in these facts.
  @inline(never) func requireSend(
    _ kind: OutgoingMessage.Kind, to recipient: OutgoingMessage.Recipient, locale: String, _ call: CallFacts,
    _ throttle: Throttle?, _ facts: Facts
  ) async throws {
    guard let hooks, asksBeforeSend(call) else { return }
    let admitted = try throttle?.admit(facts, now: clock.now())
    let check = HookCheck(tokens: tokens, sessionClaimsJSON: "")
    let message = HookedMessage(kind: kind, recipient: recipient, locale: locale)
    switch await hooks.ask(.send(message), call, check: { check.fault(in: $0) }) {
    case .answered(.allow, _), .failed(_, isAllowed: true): return
    case .failed(let hook, isAllowed: false): throw Failure.hookUnavailable(hook)
    case .answered(.deny(let denial), let hook):
      var details = ["hook": hook, "hook_event": HookEvent.beforeSend.rawValue, "kind": kind.rawValue]
      if !denial.code.isEmpty { details["code"] = denial.code }
      let now = clock.now()
      let event = audit(AuditNote(.hookDenied, accountID: "", details: details), call: call, now: now)
      // Counted even if the client is gone, like a failed attempt.
      _ = try await commit(Change((admitted?.count(at: now) ?? []) + [event]), CommitDecision())
      throw Failure(denial: denial)
    }
  }
}
