import Admission
import Crypto
import Identity
import Services
import Store
import Testing

@testable import GRPC
@testable import HTTP2
@testable import Server

private func table() -> CallerTable {
  func digest(_ key: String) -> Digest { Digest(sha256(Array(key.utf8))) }
  return CallerTable(
    [
      CallerSettings(name: "web", apiKeyDigest: digest("lk_web"), methods: ["*"], audiences: ["web"]),
      CallerSettings(name: "batch", apiKeyDigest: digest("lk_batch"), methods: ["*"], audiences: ["batch"]),
    ],
    unidentified: CallerSettings(name: "unidentified", methods: ["*"], audiences: ["app"]), paths: [])
}

@Test func `a connection's cache of its caller is good for the same credentials only`() throws {
  var cache = AdmissionCache()
  func name(_ authorization: String) throws -> String {
    try cache.caller(table(), certificateName: nil, authorization: Array(authorization.utf8)).name.text
  }
  #expect(try [name("Bearer lk_web"), name("Bearer lk_web"), name("Bearer lk_batch")] == ["web", "web", "batch"])
  #expect(throws: CallerRefusal.unknown) { try name("Bearer lk_wrong") }
  // Neither a refusal nor a call without a key is answered as whoever called before.
  #expect(throws: CallerRefusal.unknown) { try name("Bearer lk_wrong") }
  #expect(try [name(""), name("Bearer lk_web"), name("")] == ["unidentified", "web", "unidentified"])
}

@Test func `configuration lowers the limit of a method's message, and never raises it`() {
  let method = Method("/a/B", messageBytesMax: 1_000, timeLimitMillis: 5, access: .anyone, .unary { _, _, _ in
    .answer([])
  })
  #expect([999, 1_000, 1_001].map { method.limited(to: $0).messageBytesMax } == [999, 1_000, 1_000])
  let limited = method.limited(to: 1)
  #expect(limited.path == "/a/B" && limited.timeLimitMillis == 5 && limited.access == .anyone)
}

@Test func `a drain waits for every call that ends by itself, and not for one that only watches`() throws {
  let health = HealthService(HealthState(), services: []).methods
  let check = try #require(health.first)
  let watch = try #require(health.last)
  let conversation = try #require(ReflectionService(services: []).methods.first)
  let export = Method("/a/Export", timeLimitMillis: 5, watch.handler)
  let holds = [check, conversation, export, watch].map { method in
    let call = ServerCall(
      HTTP2.Stream(id: 1), RequestHead(), 0, method, .anyone, address: "", nowMillis: 0, nowNanos: 0)
    return call.holdsDrain
  }
  #expect(holds == [true, true, true, false])
}

@Test(arguments: [
  (Failure(.cancelled), 99, Failure(.cancelled)), (Failure(.cancelled), 100, Failure(.deadlineExceeded)),
  (Failure(.cancelled), 101, Failure(.deadlineExceeded)), (Failure(.userDisabled), 101, Failure(.userDisabled)),
] as [(Failure, Int64, Failure)])
func `work that gave up when the call's time was up failed of that`(failure: Failure, millis: Int64, reason: Failure)
  throws
{
  let check = try #require(HealthService(HealthState(), services: []).methods.first)
  var head = RequestHead()
  head.timeoutMillis = 100
  let call = ServerCall(HTTP2.Stream(id: 1), head, 0, check, .anyone, address: "", nowMillis: 0, nowNanos: 0)
  #expect(call.reason(of: failure, nowMillis: millis) as? Failure == reason)
  #expect(call.reason(of: StoreError.closed, nowMillis: millis) as? StoreError == .closed)
}

@Test(arguments: [
  ("*", true), ("latchkey.v1.AuthService/*", true), ("latchkey.v1.AuthService/SignIn", true),
  ("grpc.health.v1.Health/Check", true), ("latchkey.v1.AuthService/", false), ("latchkey.v1.AuthService", false),
  ("latchkey.v1.AuthService/SignIn/", false), ("latchkey.v1.*", false), ("", false), ("/", false), ("**", false),
  ("/latchkey.v1.AuthService/SignIn", false), ("latchkey.v1.AuthService/SignInRequest", false),
])
func `a pattern of rights that can match nothing is told from one that can`(pattern: String, matches: Bool) {
  #expect(Settings.namesMethods(pattern) == matches)
}
