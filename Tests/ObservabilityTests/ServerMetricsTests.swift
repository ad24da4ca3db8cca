import HTTPClient
import GRPC
import Identity
import Store
import Testing
import API
import Protobuf

@testable import Observability

/// The series that are not zero.
private func counted(_ metrics: ServerMetrics, _ name: String) -> [String] {
  metrics.registry.exposition().split(separator: "\n").map(String.init)
    .filter { $0.hasPrefix(name) && !$0.hasSuffix(" 0") }
}

@Test func `a failed call is counted by its reason, and also by the limit that it reached`() {
  let metrics = ServerMetrics(MetricsRegistry())
  metrics.failed(Failure(.invalidLoginCredentials), .unauthenticated)
  metrics.failed(Failure(.callerNotAllowed), .permissionDenied)
  metrics.failed(ProtobufError.tooLarge, .resourceExhausted)
  metrics.failed(ProtobufError.text(field: "someone@example.com"), .unknown)
  metrics.failed(Unforeseen(), .internal)
  metrics.failed(Unforeseen(), .unavailable)
  #expect(
    counted(metrics, "latchkey_failures_total") + counted(metrics, "latchkey_refusals_total") == [
      "latchkey_failures_total{reason=\"CALLER_NOT_ALLOWED\"} 1", "latchkey_failures_total{reason=\"INTERNAL\"} 1",
      "latchkey_failures_total{reason=\"INVALID_FIELD\"} 1",
      "latchkey_failures_total{reason=\"INVALID_LOGIN_CREDENTIALS\"} 1",
      "latchkey_refusals_total{limit=\"caller_rights\"} 1", "latchkey_refusals_total{limit=\"message_parts\"} 1",
    ])
}

private struct Unforeseen: Error {}

@Test(arguments: [
  (Failure(.signUpClosed), "sign_up_closed"), (Failure(.emailDomainNotAllowed), "email_domain"),
  (Failure(.phoneCountryNotAllowed), "phone_country"),
  (Failure(.weakPassword, metadata: ["rule": "length"]), "password_length"),
  (Failure(.weakPassword, metadata: ["rule": "common"]), "password_common"),
  (Failure(.weakPassword, metadata: ["rule": "block_list"]), "password_block_list"),
])
func `a call that a rule rejects is counted by the rule`(failure: Failure, rule: String) {
  let metrics = ServerMetrics(MetricsRegistry())
  metrics.failed(failure, .permissionDenied)
  metrics.failed(Failure(.invalidLoginCredentials), .unauthenticated)
  #expect(counted(metrics, "latchkey_rule_rejections_total") == ["latchkey_rule_rejections_total{rule=\"\(rule)\"} 1"])
}

@Test func `a rejected code is counted by its kind, and by whether it was wrong or has expired`() {
  let metrics = ServerMetrics(MetricsRegistry())
  for (reason, kind) in [
    (Failure.Reason.invalidCode, CodeKind.phone), (.expiredCode, .emailLink), (.invalidCode, .emailCode),
    (.expiredCode, .secondFactor), (.invalidCode, .phone),
  ] {
    var failure = Failure(reason)
    failure.rejectedCode = kind
    metrics.failed(failure, .permissionDenied)
  }
  metrics.failed(Failure(.invalidCode), .permissionDenied)
  #expect(
    Set(counted(metrics, "latchkey_code_rejections_total")) == [
      "latchkey_code_rejections_total{kind=\"phone\",result=\"wrong\"} 2",
      "latchkey_code_rejections_total{kind=\"email_link\",result=\"expired\"} 1",
      "latchkey_code_rejections_total{kind=\"email_code\",result=\"wrong\"} 1",
      "latchkey_code_rejections_total{kind=\"second_factor\",result=\"expired\"} 1",
    ])
  let text = metrics.registry.exposition()
  for kind in CodeKind.allCases {
    for result in ["wrong", "expired"] {
      #expect(text.contains("latchkey_code_rejections_total{kind=\"\(kind.rawValue)\",result=\"\(result)\"}"))
    }
  }
}

@Test func `every label of the limits exists from the start, and only once`() {
  let text = ServerMetrics(MetricsRegistry()).registry.exposition()
  let labels = LimitKind.allCases.map(\.rawValue) + Refused.allCases.map(\.rawValue)
  for label in labels { #expect(text.contains("latchkey_refusals_total{limit=\"\(label)\"} 0\n")) }
  #expect(Set(labels).count == labels.count)
  #expect(Set(HandshakeEnd.labels).count == HandshakeEnd.labels.count)
}

@Test(arguments: LimitKind.allCases)
func `every limit that is reached is counted by its name`(limit: LimitKind) {
  let metrics = ServerMetrics(MetricsRegistry())
  metrics.reached(limit)
  #expect(counted(metrics, "latchkey_refusals_total") == ["latchkey_refusals_total{limit=\"\(limit.rawValue)\"} 1"])
}

/// Returns the same answer to every request.
private struct Scripted: HTTPSFetching {
  let answer: Result<FetchedBody, FetchError>

  func fetch(_ request: FetchRequest) async throws -> FetchedBody { try answer.get() }
}

@Test func `a fetch is counted by its result, and its result is passed on unchanged`() async throws {
  let metrics = ServerMetrics(MetricsRegistry(), providers: ["github.com", "yahoo.com"])
  let errors: [(FetchError, String)] = [
    (.refusedURL, "refused_url"), (.refusedField, "refused_field"), (.requestTooLarge, "request_too_large"),
    (.refusedAddress, "refused_address"), (.redirected, "redirected"), (.tooLarge, "too_large"),
    (.timedOut, "timed_out"), (.untrusted("why"), "untrusted"), (.unreachable("why"), "unreachable"),
    (.overloaded, "overloaded"), (.circuitOpen, "circuit_open"), (.closed, "closed"),
  ]
  for (error, _) in errors {
    let fetcher = CountedFetcher(fetcher: Scripted(answer: .failure(error)), metrics: metrics)
    await #expect(throws: error) { try await fetcher.get("https://secret.example/", for: "github.com") }
  }
  for (status, result) in [(499, "answered"), (500, "failed")] {
    let body = FetchedBody(status: status, bytes: [1])
    let fetcher = CountedFetcher(fetcher: Scripted(answer: .success(body)), metrics: metrics)
    #expect(try await fetcher.get("https://secret.example/", for: "github.com") == body, "\(result)")
  }
  let results = (errors.map { $1 } + ["answered", "failed"]).sorted()
  #expect(
    counted(metrics, "latchkey_fetches_total")
      == results.map { "latchkey_fetches_total{provider=\"github.com\",result=\"\($0)\"} 1" })
  #expect(counted(metrics, "latchkey_refusals_total") == ["latchkey_refusals_total{limit=\"fetch_queue\"} 1"])
}

@Test func `a fetch from a provider that is not configured is counted without its name`() async throws {
  let metrics = ServerMetrics(MetricsRegistry(), providers: ["github.com"])
  let body = FetchedBody(status: 200, bytes: [])
  let fetcher = CountedFetcher(fetcher: Scripted(answer: .success(body)), metrics: metrics)
  for provider in ["", "secret.example"] { _ = try await fetcher.get("https://secret.example/", for: provider) }
  #expect(
    counted(metrics, "latchkey_fetches_total") == ["latchkey_fetches_total{provider=\"none\",result=\"answered\"} 2"])
}

@Test func `a call to watch events past a limit is counted by that limit`() {
  let metrics = ServerMetrics(MetricsRegistry())
  for limit in [WatchLimit.perCaller, .inAll, .inAll] {
    var failure = Failure(.quotaExceeded)
    failure.watchLimit = limit
    metrics.failed(failure, .resourceExhausted)
  }
  #expect(
    counted(metrics, "latchkey_refusals_total").map { $0.dropFirst("latchkey_refusals_total".count) } == [
      "{limit=\"watchers_in_all\"} 2", "{limit=\"watchers_per_caller\"} 1",
    ])
}

@Test func `the reports of the store are counted`() {
  let metrics = ServerMetrics(MetricsRegistry())
  metrics.committed(changes: 3, took: .milliseconds(250))
  metrics.committed(changes: 1, took: .milliseconds(50))
  metrics.lostCommit()
  metrics.refusedByFullQueue()
  metrics.holds(pendingRows: 7)
  metrics.swept(12)
  let results: [Result<Outcome, StoreError>] = [
    .success(.committed), .success(.conflict(.email)), .success(.stale), .success(.cancelled),
    .success(.limited(.account)), .success(.limited(.caller)), .success(.limited(.total)), .failure(.unavailable("")),
  ]
  for result in results { metrics.settled(result) }
  #expect(counted(metrics, "latchkey_store_commit_seconds_sum") == ["latchkey_store_commit_seconds_sum 0.3"])
  #expect(counted(metrics, "latchkey_store_commit_seconds_count") == ["latchkey_store_commit_seconds_count 2"])
  #expect(counted(metrics, "latchkey_store_commit_changes_sum") == ["latchkey_store_commit_changes_sum 4"])
  #expect(counted(metrics, "latchkey_store_commit_failures") == ["latchkey_store_commit_failures_total 1"])
  #expect(counted(metrics, "latchkey_pending_rows") == ["latchkey_pending_rows 7"])
  #expect(counted(metrics, "latchkey_store_swept_rows") == ["latchkey_store_swept_rows_total 12"])
  #expect(
    counted(metrics, "latchkey_store_changes_total").map { $0.dropFirst("latchkey_store_changes_total".count) } == [
      "{outcome=\"cancelled\"} 1", "{outcome=\"committed\"} 1", "{outcome=\"conflict\"} 1",
      "{outcome=\"failed\"} 1", "{outcome=\"limited\"} 3", "{outcome=\"stale\"} 1",
    ])
  #expect(
    counted(metrics, "latchkey_refusals_total").map { $0.dropFirst("latchkey_refusals_total".count) } == [
      "{limit=\"pending_in_all\"} 1", "{limit=\"pending_per_account\"} 1", "{limit=\"pending_per_caller\"} 1",
      "{limit=\"store_queue\"} 1",
    ])
}
