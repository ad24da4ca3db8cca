import Callers
import Crypto
import Identity
import Services
import Store
import Testing

@testable import GRPC
@testable import HTTP2
@testable import Transport

private func table() -> CallerTable {
  func key(_ key: String) -> APIKeySettings { APIKeySettings(digest: Digest(sha256(Array(key.utf8)))) }
  return CallerTable(
    [
      CallerSettings(name: "web", apiKeys: [key("lk_web")], methods: ["*"], audiences: ["web"]),
      CallerSettings(name: "batch", apiKeys: [key("lk_batch")], methods: ["*"], audiences: ["batch"]),
    ],
    unidentified: CallerSettings(name: "unidentified", methods: ["*"], audiences: ["app"]), paths: [])
}

@Test func `a connection's cached caller is valid for the same credentials only`() throws {
  var cache = ConnectionCaller()
  func name(_ authorization: String) throws -> String {
    try cache.identify(table(), authorization: Array(authorization.utf8), nowMillis: 5_000).name.text
  }
  #expect(try [name("Bearer lk_web"), name("Bearer lk_web"), name("Bearer lk_batch")] == ["web", "web", "batch"])
  #expect(throws: CallerRefusal.unknown) { try name("Bearer lk_wrong") }
  // A rejection, or a call without a key, is not identified as the previous caller.
  #expect(throws: CallerRefusal.unknown) { try name("Bearer lk_wrong") }
  #expect(try [name(""), name("Bearer lk_web"), name("")] == ["unidentified", "web", "unidentified"])
}

@Test func `all rejected calls of identified callers are logged, and the first of unidentified ones`() throws {
  var cache = ConnectionCaller()
  let web = try cache.identify(table(), authorization: Array("Bearer lk_web".utf8), nowMillis: 5_000)
  let logged = [web, .anyone, web, .anyone, .anyone, web].map { cache.isLogged($0) }
  #expect(logged == [true, true, true, false, false, true])
  let isFirst = cache.isFirstUnknown()
  #expect(!isFirst)
}

@Test(arguments: [
  ("lk_web", "web", ["*"], nil, true), ("lk_batch", "web", ["*"], nil, false), ("lk_web", "other", ["*"], nil, false),
  ("lk_web", "web", ["a/Other"], nil, false), ("lk_web", "web", ["*"], 1, false),
] as [(String, String, [String], Int64?, Bool)])
func `a reload ends a watch whose own caller has lost its key or its right, whoever made the last call`(
  key: String, name: String, methods: [String], keyEndMillis: Int64?, mayContinue: Bool
) throws {
  func callers(_ watcher: CallerSettings) -> CallerTable {
    let last = APIKeySettings(digest: Digest(sha256(Array("lk_last".utf8))))
    let other = CallerSettings(name: "last", apiKeys: [last], methods: [], audiences: ["last"])
    return CallerTable([watcher, other], unidentified: nil, paths: ["/a/Watch"])
  }
  func watcher(_ key: String, _ name: String, _ methods: [String], _ end: Timestamp? = nil) -> CallerSettings {
    let settings = APIKeySettings(digest: Digest(sha256(Array(key.utf8))), notAfter: end)
    return CallerSettings(name: name, apiKeys: [settings], methods: methods, audiences: [name])
  }
  let old = callers(watcher("lk_web", "web", ["*"]))
  var cache = ConnectionCaller()
  var head = RequestHead()
  head.authorization = Array("Bearer lk_web".utf8)
  let caller = try cache.identify(old, authorization: head.authorization, nowMillis: 5_000)
  let handler = try #require(HealthService(HealthState(), services: []).methods.last).handler
  let method = Method("/a/Watch", timeLimitMillis: .max, handler)
  let call = ServerCall(
    HTTP2.Stream(id: 1), head, 0, method, caller, .none, address: "", messageBytesMax: 1, nowMillis: 0, nowNanos: 0)
  _ = try cache.identify(old, authorization: Array("Bearer lk_last".utf8), nowMillis: 5_000)
  let new = callers(watcher(key, name, methods, keyEndMillis.map { Timestamp(millis: $0) }))
  let isLastValid = cache.refresh(new)
  #expect(isLastValid && cache.mayContinue(call, new) == mayContinue)
}

/// Whether a call of a method accepts a message of this many bytes.
private func takes(_ method: Method, bytes count: Int, configured: Int) -> Bool {
  let call = ServerCall(
    HTTP2.Stream(id: 1), RequestHead(), 0, method, .anyone, .none, address: "", messageBytesMax: configured,
    nowMillis: 0, nowNanos: 0)
  let head: [UInt8] = [0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
  return switch call.received(head + [UInt8](repeating: 0, count: count), ended: true) {
  case .ready, .messages: true
  case .wait, .refuse: false
  }
}

@Test(arguments: [1_024, 65_536, 65_537, 4_194_304])
func `a message of the configured limit is accepted and a larger one is not, and batches have their own limit`(
  configured: Int
) throws {
  for method in HealthService(HealthState(), services: []).methods {
    #expect(takes(method, bytes: configured, configured: configured))
    #expect(!takes(method, bytes: configured + 1, configured: configured))
  }
  let batches = Method("/a/Batches", messageBytesMax: 2_000, .unary { _, _, _ in .answer([]) })
  #expect(takes(batches, bytes: 2_000, configured: configured))
  #expect(!takes(batches, bytes: 2_001, configured: configured))
}

@Test func `a drain waits for every call except watches`() throws {
  let health = HealthService(HealthState(), services: []).methods
  let check = try #require(health.first)
  let watch = try #require(health.last)
  let conversation = try #require(ReflectionService(services: []).methods.first)
  let export = Method("/a/Export", timeLimitMillis: 5, watch.handler)
  let holds = [check, conversation, export, watch].map { method in
    let call = ServerCall(
      HTTP2.Stream(id: 1), RequestHead(), 0, method, .anyone, .none, address: "", messageBytesMax: 1, nowMillis: 0,
      nowNanos: 0)
    return call.kind.holdsDrain
  }
  #expect(holds == [true, true, true, false])
}

@Test(arguments: [
  (Failure(.cancelled), 99, Failure(.cancelled)), (Failure(.cancelled), 100, Failure(.deadlineExceeded)),
  (Failure(.cancelled), 101, Failure(.deadlineExceeded)), (Failure(.userDisabled), 101, Failure(.userDisabled)),
] as [(Failure, Int64, Failure)])
func `work that ends at the call's deadline fails with that reason`(failure: Failure, millis: Int64, reason: Failure)
  throws
{
  let check = try #require(HealthService(HealthState(), services: []).methods.first)
  var head = RequestHead()
  head.timeoutMillis = 100
  let call = ServerCall(
    HTTP2.Stream(id: 1), head, 0, check, .anyone, .none, address: "", messageBytesMax: 1, nowMillis: 0, nowNanos: 0)
  #expect(call.reason(of: failure, nowMillis: millis) as? Failure == reason)
  #expect(call.reason(of: StoreError.closed, nowMillis: millis) as? StoreError == .closed)
}
