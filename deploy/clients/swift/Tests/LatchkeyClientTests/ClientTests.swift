import GRPCCore
import Testing

@testable import LatchkeyClient

@Test func `the service configuration repeats calls that are safe to repeat`() throws {
  let configuration = try LatchkeyClient.serviceConfiguration()
  let refresh = MethodConfig.Name(service: "latchkey.v1.SessionService", method: "Refresh")
  let method = try #require(configuration.methodConfig.first { $0.names.contains(refresh) })
  #expect(method.timeout == .seconds(30))
  #expect(method.executionPolicy?.retry?.maxAttempts == 4)
  #expect(configuration.loadBalancingConfig == [.roundRobin])
  #expect(configuration.retryThrottling?.maxTokens == 100)
}

@Test func `the key is part of each call, without the line end of its file`() async throws {
  let server = TestServer()
  let key = try #require(LatchkeyClient.CallerCredential.apiKey("lk_secret\n").key)
  try await withClient(of: server, apiKey: key) { client in
    _ = try await client.sessions.signOut(.init())
  }
  #expect(server.state.withLock(\.authorization) == ["Bearer lk_secret"])
}

@Test func `a call is repeated after UNAVAILABLE`() async throws {
  let server = TestServer()
  server.state.withLock { $0.failures = [.of(.unavailable, "STORE_UNAVAILABLE")] }
  try await withClient(of: server, serviceConfiguration: LatchkeyClient.serviceConfiguration()) { client in
    let response = try await client.sessions.refresh(.with { $0.idempotencyKey = "a" })
    #expect(response.session.idToken == "id 2")
  }
  #expect(server.state.withLock(\.refreshes).map(\.idempotencyKey) == ["a", "a"])
}

@Test(arguments: [false, true])
func `a call past its deadline throws the error of this package`(isRepeated: Bool) async throws {
  let configuration = isRepeated ? try LatchkeyClient.serviceConfiguration() : ServiceConfig()
  try await withClient(of: TestServer(), serviceConfiguration: configuration) { client in
    let error = await #expect(throws: LatchkeyError.self) {
      try await client.sessions.refresh(.init(), options: .timeout(.milliseconds(1)))
    }
    #expect(error?.code == .deadlineExceeded)
  }
}

@Test func `a missing authority is reported when the client is created`() {
  let configuration = LatchkeyClient.Configuration(
    host: "localhost", port: 1, trustRoots: .file("/missing.pem"), credential: nil)
  #expect(throws: RuntimeError.self) { try LatchkeyClient(configuration) }
}

@Test func `a call without a server fails as unavailable`() async throws {
  let configuration = LatchkeyClient.Configuration(host: "127.0.0.1", port: 1, credential: .apiKey("lk_secret"))
  try await withLatchkeyClient(configuration) { client in
    let error = await #expect(throws: LatchkeyError.self) { try await client.sessions.signOut(.init()) }
    #expect(error?.code == .unavailable)
  }
}

@Test func `idempotency keys are random and have 32 digits`() {
  let keys = Set((0..<100).map { _ in makeIdempotencyKey() })
  #expect(keys.count == 100)
  #expect(keys.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{32}/) != nil })
}
