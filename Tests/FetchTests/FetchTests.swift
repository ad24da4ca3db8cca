import Testing

@testable import Fetch

/// Fetches from the local server, with what the tests of one rule change of the settings.
private func fetcher(_ change: (inout FetchSettings) -> Void = { _ in }) throws -> CurlFetcher {
  var settings = FetchSettings()
  settings.caFile = LocalServer.shared.caFile
  settings.privateHosts = ["localhost"]
  change(&settings)
  return try CurlFetcher(settings)
}

private func get(_ path: String, _ change: (inout FetchSettings) -> Void = { _ in }) async throws -> FetchedBody {
  try await fetcher(change).get(LocalServer.shared.url(path))
}

@Suite(.timeLimit(.minutes(1)))
struct FetchTests {
  @Test func `an answer comes with its status, content type, life and bytes`() async throws {
    let body = try await get("/ok")
    #expect(body.status == 200)
    #expect(body.contentType == "application/json")
    #expect(body.maxAgeSeconds == 1234)
    #expect(body.bytes == Array(#"{"keys":[]}"#.utf8))
  }

  @Test func `the configured user agent is sent`() async throws {
    let body = try await get("/agent") { $0.userAgent = "latchkey-test/1" }
    #expect(body.bytes == Array("latchkey-test/1".utf8))
  }

  @Test func `a 404 is an answer that says so`() async throws {
    let body = try await get("/missing")
    #expect(body.status == 404)
    #expect(body.maxAgeSeconds == nil)
    #expect(body.bytes == Array("no such page".utf8))
  }

  @Test func `check 68: a redirect is refused, not followed`() async throws {
    await #expect(throws: FetchError.redirected) { try await get("/redirect") }
  }

  @Test func `check 68: a body that drips past the time limit ends at the time limit`() async throws {
    let start = ContinuousClock.now
    await #expect(throws: FetchError.timedOut) { try await get("/slow") { $0.totalTimeMillis = 300 } }
    #expect(ContinuousClock.now - start < .seconds(5))
  }

  @Test func `checks 54 and 68: a body of 5 MB is refused, announced or not`() async throws {
    await #expect(throws: FetchError.tooLarge) { try await get("/huge") }
    await #expect(throws: FetchError.tooLarge) { try await get("/endless") }
  }

  @Test func `a body of exactly the limit passes and one byte more does not`() async throws {
    #expect(try await get("/sized/1000") { $0.bodyBytesMax = 1000 }.bytes.count == 1000)
    await #expect(throws: FetchError.tooLarge) { try await get("/sized/1001") { $0.bodyBytesMax = 1000 } }
  }

  @Test func `a head of 80 KB is refused`() async throws {
    await #expect(throws: FetchError.tooLarge) { try await get("/headers") }
  }

  @Test func `an answer that breaks off is no answer`() async throws {
    await #expect {
      try await get("/cut")
    } throws: {
      if case .unreachable = $0 as? FetchError { true } else { false }
    }
  }

  @Test func `a certificate of another authority is refused`() async throws {
    await #expect(throws: FetchError.untrusted) {
      try await get("/ok") { $0.caFile = LocalServer.shared.otherCAFile }
    }
    await #expect(throws: FetchError.untrusted) { try await get("/ok") { $0.caFile = nil } }
  }

  @Test func `a certificate that names another host is refused`() async throws {
    let fetcher = try fetcher { $0.privateHosts = ["127.0.0.1"] }
    await #expect(throws: FetchError.untrusted) {
      try await fetcher.get(LocalServer.shared.url("/ok", host: "127.0.0.1"))
    }
  }

  @Test(arguments: [
    "localhost", "LOCALHOST", "127.0.0.1", "127.1", "0x7f.0.0.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
  ])
  func `check 68: a host that resolves to a private address is refused by default`(host: String) async throws {
    let fetcher = try fetcher { $0.privateHosts = [] }
    await #expect(throws: FetchError.refusedAddress) {
      try await fetcher.get(LocalServer.shared.url("/ok", host: host))
    }
  }

  @Test func `a private address is allowed to the configured host alone`() async throws {
    let fetcher = try fetcher { $0.privateHosts = ["provider.internal"] }
    await #expect(throws: FetchError.refusedAddress) { try await fetcher.get(LocalServer.shared.url("/ok")) }
  }

  @Test(arguments: [
    "http://localhost/ok", "file:///etc/passwd", "ftp://localhost/ok", "gopher://localhost/", "localhost/ok", "",
    "https://", "https://user:secret@localhost/ok", "https://localhost/a b", "https://localhost/\0",
    "https://lócalhost/",
  ])
  func `only an absolute https URL without user information is fetched`(url: String) async throws {
    let fetcher = try fetcher()
    await #expect(throws: FetchError.refusedURL) { try await fetcher.get(url) }
  }

  @Test func `a port where nobody listens is unreachable`() async throws {
    let fetcher = try fetcher()
    await #expect {
      try await fetcher.get("https://localhost:1/")
    } throws: {
      if case .unreachable = $0 as? FetchError { true } else { false }
    }
  }

  @Test func `no more transfers to one host than allowed, and those that wait are served after`() async throws {
    let fetcher = try fetcher { $0.perHostMax = 3 }
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<12 { group.addTask { try await fetcher.get(LocalServer.shared.url("/busy")).status } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: 12))
    #expect(try await get("/most").bytes == Array("3".utf8))
  }

  @Test func `what waits for a busy host past the time limit is timed out`() async throws {
    let fetcher = try fetcher {
      $0.perHostMax = 1
      $0.totalTimeMillis = 400
    }
    let failures = await outcomes(of: 4, fetcher, "/slow")
    #expect(failures == Array(repeating: .timedOut, count: 4))
  }

  @Test func `past the waiting limit a fetch is refused at once, and what waits is not disturbed`() async throws {
    let fetcher = try fetcher {
      $0.perHostMax = 1
      $0.waitingMax = 2
      $0.totalTimeMillis = 1000
    }
    async let underWay = outcomes(of: 1, fetcher, "/slow")
    try await Task.sleep(for: .milliseconds(150))
    async let waiting = outcomes(of: 2, fetcher, "/slow")
    try await Task.sleep(for: .milliseconds(150))
    let start = ContinuousClock.now
    #expect(await outcomes(of: 3, fetcher, "/slow") == Array(repeating: .overloaded, count: 3))
    #expect(ContinuousClock.now - start < .milliseconds(500))
    #expect(await underWay + waiting == Array(repeating: .timedOut, count: 3))
  }

  @Test func `closing ends every fetch under way exactly once, and all later ones`() async throws {
    let fetcher = try fetcher { $0.perHostMax = 2 }
    async let failures = outcomes(of: 5, fetcher, "/slow")
    try await Task.sleep(for: .milliseconds(200))
    fetcher.close()
    #expect(await failures == Array(repeating: .closed, count: 5))
    await #expect(throws: FetchError.closed) { try await fetcher.get(LocalServer.shared.url("/ok")) }
    fetcher.close()
  }

  @Test func `one fetcher serves many callers over the same connections`() async throws {
    let fetcher = try fetcher()
    for _ in 0..<50 { #expect(try await fetcher.get(LocalServer.shared.url("/ok")).status == 200) }
  }
}

private func outcomes(of count: Int, _ fetcher: CurlFetcher, _ path: String) async -> [FetchError?] {
  await withTaskGroup(of: FetchError?.self) { group in
    for _ in 0..<count {
      group.addTask {
        do {
          _ = try await fetcher.get(LocalServer.shared.url(path))
          return nil
        } catch { return error as? FetchError }
      }
    }
    return await group.reduce(into: []) { $0.append($1) }
  }
}
