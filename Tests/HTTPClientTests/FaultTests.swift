import Testing

@testable import HTTPClient

/// A fault of a provider, and the error that it must cause.
private struct Fault: Sendable, CustomTestStringConvertible {
  let path: String
  let expected: @Sendable (any Error) -> Bool

  init(_ path: String, _ error: FetchError) { (self.path, expected) = (path, { $0 as? FetchError == error }) }

  /// A broken answer, with any error of libcurl.
  init(broken path: String) { (self.path, expected) = (path, isUnreachable) }

  var testDescription: String { path }
}

private let faults = [
  Fault("/hang", .timedOut), Fault("/slow", .timedOut), Fault("/huge", .tooLarge), Fault("/endless", .tooLarge),
  Fault("/bomb", .tooLarge), Fault(broken: "/false-gzip"),
  Fault("/bomb-in-bomb/gzip,gzip", .tooLarge), Fault("/bomb-in-bomb/GZIP,identity,gzip", .tooLarge),
  Fault("/bomb-in-two-fields", .tooLarge), Fault("/bomb-on-the-way", .tooLarge),
  Fault("/endless-head", .tooLarge), Fault("/endless-line", .tooLarge), Fault("/endless-hints", .tooLarge),
  Fault("/redirect", .redirected), Fault("/redirect-private", .redirected), Fault(broken: "/reset"),
  Fault(broken: "/cut"), Fault(broken: "/silence"), Fault(broken: "/garbage"),
]

@Suite(.timeLimit(.minutes(1)))
struct FaultTests {
  @Test(arguments: faults)
  private func `check 68: a fault of a provider ends in its error within the time limit, and the next fetch is served`(
    fault: Fault
  ) async throws {
    // The server may need seconds to make a large body.
    let hangs = ["/hang", "/slow"].contains(fault.path)
    let fetcher = try fetcher { $0.limits.totalTimeMillis = hangs ? 2_000 : 15_000 }
    let begun = ContinuousClock.now
    await #expect {
      try await fetcher.get(LocalServer.shared.url(fault.path))
    } throws: {
      fault.expected($0)
    }
    #expect(ContinuousClock.now - begun < .seconds(20))
    #expect(try await fetcher.get(LocalServer.shared.url("/ok")).status == 200)
  }

  @Test func `a handshake without an answer fails at the time limit`() async throws {
    let fetcher = try fetcher { $0.limits.totalTimeMillis = 300 }
    await #expect(throws: FetchError.timedOut) {
      try await fetcher.get(LocalServer.shared.url("/ok", port: LocalServer.shared.silentPort))
    }
  }

  @Test func `a server without TLS is unreachable, and so is a port without a listener`() async throws {
    let fetcher = try fetcher()
    for port in [LocalServer.shared.plainPort, 1] {
      await #expect {
        try await fetcher.get(LocalServer.shared.url("/ok", port: port))
      } throws: {
        isUnreachable($0)
      }
    }
  }

  @Test func `a name that does not resolve is unreachable`() async throws {
    let fetcher = try fetcher()
    await #expect {
      try await fetcher.get("https://name.invalid/")
    } throws: {
      isUnreachable($0) || $0 as? FetchError == .timedOut
    }
  }

  @Test func `a certificate of another authority is refused`() async throws {
    await #expect {
      try await get("/ok") { $0.caFile = LocalServer.shared.otherCAFile }
    } throws: {
      isUntrusted($0, "issuer")
    }
    await #expect { try await get("/ok") { $0.caFile = nil } } throws: { isUntrusted($0, "issuer") }
    await #expect { try await get("/ok") { $0.caFile = "/nowhere.pem" } } throws: { isUntrusted($0, "/nowhere.pem") }
  }

  @Test func `a certificate for another host is rejected`() async throws {
    let fetcher = try fetcher { $0.privateHosts = ["127.0.0.1"] }
    await #expect {
      try await fetcher.get(LocalServer.shared.url("/ok?secret=1", host: "127.0.0.1"))
    } throws: {
      isUntrusted($0, "127.0.0.1") && !"\($0)".contains("secret")
    }
  }
}
