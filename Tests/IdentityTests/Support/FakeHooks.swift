import Identity
import Store
import Synchronization

/// Hooks that a test scripts. They note what they are asked.
final class FakeHooks: Identity.Hooks {
  typealias Rule = @Sendable (HookQuestion) -> HookReply

  private let rule: Mutex<Rule>
  private let noted = Mutex<[HookQuestion]>([])
  private let events: Set<HookEvent>
  private let callers: Set<String>
  /// Runs while a question is open, to change what the call decided on.
  private let interruption = Mutex<(@Sendable (Int) -> Void)?>(nil)

  init(
    _ events: Set<HookEvent> = Set(HookEvent.allCases), callers: Set<String> = [],
    _ rule: @escaping Rule = { _ in .answered(.allow(HookChanges()), by: "rules") }
  ) {
    self.events = events
    self.callers = callers
    self.rule = Mutex(rule)
  }

  /// The questions so far, in order.
  var asked: [HookQuestion] { noted.withLock(\.self) }

  func use(_ rule: @escaping Rule) { self.rule.withLock { $0 = rule } }

  func whileAsked(_ body: @escaping @Sendable (Int) -> Void) { interruption.withLock { $0 = body } }

  func areAsked(about event: HookEvent, by caller: CallerName) -> Bool {
    events.contains(event) && (callers.isEmpty || callers.contains(caller.text))
  }

  func ask(
    _ question: HookQuestion, _ call: CallFacts, check: @escaping @Sendable (HookAnswer) -> String?
  ) async -> HookReply {
    let count = noted.withLock { noted in
      noted.append(question)
      return noted.count
    }
    interruption.withLock(\.self)?(count)
    let reply = rule.withLock(\.self)(question)
    if case .answered(let answer, let hook) = reply, check(answer) != nil {
      return .failed(hook: hook, isAllowed: false)
    }
    return reply
  }
}

extension HookReply {
  static func allowing(_ edit: (inout HookChanges) -> Void) -> HookReply {
    var changes = HookChanges()
    edit(&changes)
    return .answered(.allow(changes), by: "rules")
  }

  static func denying(_ code: String, _ reason: String = "") -> HookReply {
    .answered(.deny(HookDenial(code: code, reason: reason)), by: "rules")
  }
}
