import API
import Testing

@testable import latchkey_load

let login = PasswordCredential(email: "a@example.com", password: "correct horse")
let token = ProviderTokenCredential(providerID: "oidc.corp", idToken: "token")

func session(_ id: String = "id", providers: [String] = [], isNew: Bool = false) -> Session {
  Session(
    idToken: "i", refreshToken: "r",
    account: Account(accountID: id, email: login.email, providers: providers.map { LinkedProvider(providerID: $0) }),
    isNewAccount: isNew, sessionID: "s")
}

func signedIn(_ id: String = "id", providers: [String] = [], isNew: Bool = false) -> SignInResponse {
  SignInResponse(outcome: .session(session(id, providers: providers, isNew: isNew)))
}

func user() -> LoadUser {
  let user = LoadUser(login: login, token: token)
  user.accountID = "id"
  return user
}

/// A user with a session of a login at 0 ns.
func userInSession() -> LoadUser {
  let user = user()
  user.signedIn(session(), atNanos: 0)
  return user
}

/// A call that takes an answer without a server.
private protocol PlayedCall {
  /// The request; nil for a handshake.
  var sent: Any? { get }
  /// The step after the answer; nil if the call cannot have it.
  func next(after answer: Any, atNanos nanos: Int64) -> Step?
}

extension UnaryCall: PlayedCall {
  var sent: Any? { request }

  func next(after answer: Any, atNanos nanos: Int64) -> Step? { (answer as? Response).map { then($0, nanos) } }
}

extension StreamCall: PlayedCall {
  var sent: Any? { request }

  /// - Parameter answer: the messages of the stream up to its end, or one message.
  func next(after answer: Any, atNanos nanos: Int64) -> Step? {
    guard let messages = answer as? [Response] ?? (answer as? Response).map({ [$0] }) else { return nil }
    var call = self
    for message in messages { call.take(message) }
    return then(call.value, nanos)
  }
}

extension HandshakeCall: PlayedCall {
  var sent: Any? { nil }

  func next(after answer: Any, atNanos nanos: Int64) -> Step? { (answer as? Bool).map { then($0, nanos) } }
}

/// Gives these answers to an iteration, one after the other. Returns the calls that it made, and its end.
private func steps(
  _ first: Step, _ answers: [Any], atNanos nanos: Int64, _ sourceLocation: SourceLocation
) -> (calls: [any Call], end: String) {
  var step = first
  var calls: [any Call] = []
  var answers = answers[...]
  while true {
    switch step {
    case .call(let call):
      calls.append(call)
      guard let answer = answers.popFirst() else { return (calls, "under way") }
      guard let next = (call as? any PlayedCall)?.next(after: answer, atNanos: nanos) else {
        Issue.record("\(CallRow.names[call.row]) cannot have this answer", sourceLocation: sourceLocation)
        return (calls, "under way")
      }
      step = next
    case .done: return (calls, "done")
    case .wrong(let why): return (calls, why)
    }
  }
}

/// Plays an iteration. Returns the rows of its calls in the report, and its end.
func play(
  _ first: @autoclosure () -> Step, _ answers: [Any], atNanos nanos: Int64 = 0,
  sourceLocation: SourceLocation = #_sourceLocation
) -> (calls: [String], end: String) {
  let (calls, end) = steps(first(), answers, atNanos: nanos, sourceLocation)
  return (calls.map { CallRow.names[$0.row] }, end)
}

/// Plays an iteration. Returns its requests.
func requests(_ first: Step, _ answers: [Any], sourceLocation: SourceLocation = #_sourceLocation) -> [Any] {
  steps(first, answers, atNanos: 0, sourceLocation).calls.compactMap { ($0 as? any PlayedCall)?.sent }
}

/// Checks that every one of these ends as wrong at its last answer, for any reason.
func expectWrong(
  _ first: @autoclosure () -> Step, _ cases: [[Any]], sourceLocation: SourceLocation = #_sourceLocation
) {
  for answers in cases {
    let (calls, end) = play(first(), answers, sourceLocation: sourceLocation)
    #expect(!["done", "under way"].contains(end), "\(answers)", sourceLocation: sourceLocation)
    #expect(calls.count == answers.count, "\(answers)", sourceLocation: sourceLocation)
  }
}
