import Store

/// The questions of one call, with their replies. A decision that is taken again after a lost race asks again only if
/// the facts have changed.
struct HookDialog {
  private let hooks: any Hooks
  private let call: CallFacts
  private let userInfo: UserInfo?
  private var replies: [HookQuestion: HookReply] = [:]

  fileprivate init(_ hooks: any Hooks, _ call: CallFacts, _ userInfo: UserInfo?) {
    self.hooks = hooks
    self.call = call
    self.userInfo = userInfo
  }

  /// The question about an event. nil: no hook is asked about it.
  fileprivate func question(_ event: HookEvent, _ opening: HookedOpening) -> HookQuestion? {
    guard hooks.areAsked(about: event, by: call.caller) else { return nil }
    switch event {
    case .beforeCreate: return opening.isNewAccount ? .create(opening.login(userInfo)) : nil
    case .beforeSignIn: return .signIn(opening.login(userInfo), isNewAccount: opening.isNewAccount)
    case .beforeSend: return nil
    }
  }

  fileprivate mutating func reply(to question: HookQuestion, _ check: HookCheck) async -> HookReply {
    if let reply = replies[question] { return reply }
    let reply = await hooks.ask(question, call) { check.fault(in: $0) }
    replies[question] = reply
    return reply
  }
}

extension Environment {
  /// The id of an account that the call creates. If hooks are asked, a decision that is taken again has the same id.
  func newAccountID(for call: CallFacts) -> String { hooks == nil ? ids.account() : call.accountID(ids.account) }

  /// Settles a call that may begin a login. Hooks rule on the login between the decision and its commit.
  /// - Parameter userInfo: the user's profile at the provider.
  @inline(never) func settle<Answer: OpensSession>(
    _ query: Query, _ facts: Facts, call: CallFacts, userInfo: @autoclosure () -> UserInfo?,
    decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Settled<Answer> {
    if let dialog = hookDialog(call, userInfo) {
      return try await decideAndAsk(query, facts, call, dialog) { facts, now in try call.step(facts, now, decide) }
    }
    return try await decideAndCommit(query, facts, call: call) { facts, now in try call.step(facts, now, decide) }
  }

  /// Decides and commits like `settle`, for a call without an idempotency key.
  @inline(never) func decideAndCommit<Answer: OpensSession>(
    _ query: Query, _ facts: Facts, call: CallFacts, userInfo: @autoclosure () -> UserInfo?,
    decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    if let dialog = hookDialog(call, userInfo) { return try await decideAndAsk(query, facts, call, dialog, decide) }
    return try await decideAndCommit(query, facts, call: call, decide: decide)
  }

  private func hookDialog(_ call: CallFacts, _ userInfo: () -> UserInfo?) -> HookDialog? {
    guard let hooks else { return nil }
    let events: [HookEvent] = [.beforeCreate, .beforeSignIn]
    guard events.contains(where: { hooks.areAsked(about: $0, by: call.caller) }) else { return nil }
    return HookDialog(hooks, call, userInfo())
  }

  @inline(never) private func decideAndAsk<Answer: OpensSession>(
    _ query: Query, _ facts: Facts, _ call: CallFacts, _ dialog: HookDialog,
    _ decide: (Facts, Timestamp) throws -> Step<Answer>
  ) async throws -> Answer {
    var (dialog, facts) = (dialog, facts)
    for round in 0..<policy.decisionsMax {
      if round > 0 { facts = try await load(query) }
      switch try await ruled(try decided(facts, decide), call, &dialog) {
      case .step(let step): if let answer = try await carryOut(step, call.commitDecision) { return answer }
      case .disabled(let change, let accountID):
        if try await commit(change, call.commitDecision) { throw Failure.userIsDisabled.concerning(accountID) }
      }
    }
    throw lostRaces()
  }

  /// Asks the hooks about the login of a step, first about a new account.
  private func ruled<Answer: OpensSession>(
    _ step: Step<Answer>, _ call: CallFacts, _ dialog: inout HookDialog
  ) async throws -> Ruled<Answer> {
    guard case .commit(let change, let answer) = step, let opened = answer.opening,
      var opening = HookedOpening(change, opened)
    else { return .step(step) }
    func audit(_ note: AuditNote) -> Write { self.audit(note, call: call, now: clock.now()) }
    let accountID = opening.isNewAccount ? nil : opening.state.account.id
    for event in [HookEvent.beforeCreate, .beforeSignIn] {
      guard let question = dialog.question(event, opening) else { continue }
      if call.commitDecision.isCancelled { throw Failure(.cancelled) }
      let check = HookCheck(tokens: tokens, sessionClaimsJSON: opening.session.record.claimsJSON)
      switch await dialog.reply(to: question, check) {
      case .failed(_, true): continue
      case .failed(let hook, false): throw Failure.hookUnavailable(hook).concerning(accountID)
      case .answered(.deny(let denial), let hook):
        let change = opening.denied(denial, of: event, by: hook, audit)
        return .step(.refuse(Failure(denial: denial).concerning(accountID), writing: change))
      case .answered(.allow(let changes), let hook):
        try opening.apply(changes, of: event, by: hook, tokens, now: clock.now())
      }
      guard !opening.isDisabled else {
        return .disabled(opening.disabled(now: clock.now(), audit), accountID: opening.state.account.id)
      }
    }
    return .step(.commit(opening.allowed(audit), answer.with(opening.session, opening.state)))
  }
}

/// A step after the hooks.
private enum Ruled<Answer> {
  case step(Step<Answer>)
  /// Commit, then fail with `USER_DISABLED`.
  case disabled(Change, accountID: String)
}

extension Failure {
  /// The refusal of a hook, with its reason for the client.
  init(denial: HookDenial) {
    var metadata: [String: String] = [:]
    if !denial.code.isEmpty { metadata["code"] = denial.code }
    if !denial.reason.isEmpty { metadata["reason"] = denial.reason }
    self.init(.deniedByHook, hint: denial.reason, metadata: metadata)
  }

  static func hookUnavailable(_ hook: String) -> Failure {
    Failure(.hookUnavailable, hint: "Try again.", retryAfterMillis: 1_000, debug: "hook \(hook)")
  }
}
