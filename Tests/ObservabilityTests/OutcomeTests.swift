import Callers
import GRPC
import Identity
import Protobuf
import Services
import Store
import Testing

@testable import Observability

private struct Outcomes {
  let metrics: ServerMetrics
  let caller: Caller

  init(seriesMax: Int = 4_096) throws {
    let labels = CallerLabels()
    let settings = CallerSettings(name: "shop", san: "shop", methods: ["*"], audiences: ["shop"])
    caller = try CallerTable([settings], unidentified: nil, paths: [], labels: labels)
      .identify(certificateName: "shop", authorization: [], now: Timestamp(millis: 0))
    metrics = ServerMetrics(MetricsRegistry(seriesMax: seriesMax), providers: ["google.com"], callers: labels)
  }

  func context(_ method: String = "SignIn", _ fill: (CallNotes) -> Void = { _ in }) -> CallContext {
    let notes = CallNotes()
    fill(notes)
    return CallContext(
      caller: caller, path: "/latchkey.v1.AuthService/\(method)", peerAddress: "192.0.2.1",
      commitDecision: CommitDecision(), notes: notes)
  }

  func counted(_ name: String) -> [String] {
    metrics.registry.exposition().split(separator: "\n").map(String.init)
      .filter { $0.hasPrefix(name) && !$0.hasSuffix(" 0") }
  }
}

private func signIn(_ provider: String, _ outcome: String, _ count: Int = 1) -> String {
  """
  latchkey_sign_ins_total{method="latchkey.v1.AuthService/SignIn",outcome="\(outcome)",provider="\(provider)"} \(count)
  """
}

@Test(arguments: CallOutcome.allCases)
func `a sign-in is counted by provider and outcome, and by caller`(outcome: CallOutcome) throws {
  let outcomes = try Outcomes()
  let context = outcomes.context { notes in
    notes.presents(.providerToken(ProviderToken(providerID: "google.com", idToken: "a")))
    notes.ended(outcome)
  }
  for _ in 0..<2 { outcomes.metrics.outcomes.ended(context) }
  #expect(outcomes.counted("latchkey_sign_ins_total") == [signIn("google.com", outcome.rawValue, 2)])
  let line = "latchkey_caller_outcomes_total{caller=\"shop\",outcome=\"\(outcome.rawValue)\"} 2"
  #expect(outcomes.counted("latchkey_caller_outcomes_total") == [line])
}

@Test func `a failed sign-in is counted by its reason, and the text of a client is never a label`() throws {
  let outcomes = try Outcomes()
  let password = outcomes.context { $0.presents(.password(email: "a@b.example", password: "x")) }
  outcomes.metrics.outcomes.failed(password, Failure(.invalidLoginCredentials), .unauthenticated)
  let foreign = outcomes.context { $0.presents("someone's text") }
  outcomes.metrics.outcomes.failed(foreign, ProtobufError.text(field: "a"), GRPC.Status.Code(rawValue: 3))
  outcomes.metrics.outcomes.failed(foreign, ProtobufError.tooLarge, .resourceExhausted)
  #expect(
    outcomes.counted("latchkey_sign_ins_total") == [
      signIn("none", "INVALID_FIELD"), signIn("password", "INVALID_LOGIN_CREDENTIALS"),
      signIn("none", "RESOURCE_EXHAUSTED"),
    ].sorted())
}

@Test func `a provider that a reload of the configuration adds has a label of its own from then on`() throws {
  let outcomes = try Outcomes()
  let context = outcomes.context {
    $0.presents(.providerToken(ProviderToken(providerID: "yahoo.com", idToken: "a")))
    $0.ended(.session)
  }
  outcomes.metrics.outcomes.ended(context)
  outcomes.metrics.add(providers: ["google.com", "yahoo.com"])
  outcomes.metrics.outcomes.ended(context)
  #expect(
    outcomes.counted("latchkey_sign_ins_total")
      == [signIn("none", CallOutcome.session.rawValue), signIn("yahoo.com", CallOutcome.session.rawValue)])
}

@Test func `a call without a credential counts for its caller only if it fails`() throws {
  let outcomes = try Outcomes()
  outcomes.metrics.outcomes.ended(outcomes.context("Unlink"))
  outcomes.metrics.outcomes.failed(outcomes.context("Unlink"), Failure(.tokenExpired), .unauthenticated)
  #expect(outcomes.counted("latchkey_sign_ins_total").isEmpty)
  #expect(
    outcomes.counted("latchkey_caller_outcomes_total")
      == ["latchkey_caller_outcomes_total{caller=\"shop\",outcome=\"TOKEN_EXPIRED\"} 1"])
}

@Test func `the first account that a call concerns is noted, and the one that it signed in replaces it`() {
  let notes = CallNotes()
  notes.concerns("a")
  notes.concerns("b")
  #expect(notes.content.accountID == "a")
}
