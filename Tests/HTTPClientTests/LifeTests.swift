import Glibc
import Reactor
import TestSupport
import Testing

@testable import HTTPClient

/// The effects of one fetch on others: turns, connections, breakers, threads.
@Suite(.timeLimit(.minutes(1)))
struct LifeTests {
  private func text(_ fetcher: RunningFetcher, _ path: String, for provider: String = "") async throws -> String {
    String(decoding: try await fetcher.get(LocalServer.shared.url(path), for: provider).bytes, as: UTF8.self)
  }

  @Test func `transfers from one provider never exceed the limit over all reactors, and waiting ones follow`()
    async throws
  {
    let fetcher = try fetcher(reactors: 2) { $0.limits.perProviderMax = 3 }
    // Half of them call on the second reactor's thread, which does their fetches too.
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<12 {
        group.addTask(executorPreference: fetcher.threads[number % 2].commandQueue) {
          try await fetcher.get(LocalServer.shared.url("/busy/three/3")).status
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == Array(repeating: 200, count: 12))
    #expect(try await text(fetcher, "/most/three") == "3")
  }

  @Test func `a fetch that waits for a busy provider past the time limit times out`() async throws {
    let fetcher = try fetcher {
      $0.limits.perProviderMax = 1
      $0.limits.totalTimeMillis = 400
    }
    let failures = await outcomes(of: 4, fetcher, "/slow")
    #expect(failures == Array(repeating: .timedOut, count: 4))
    #expect(fetcher.fetcher.waitingCount == 0)
  }

  @Test func `past the waiting limit a fetch is refused immediately, and waiting ones are unaffected`() async throws {
    let fetcher = try fetcher {
      $0.limits.perProviderMax = 1
      $0.limits.waitingPerProviderMax = 2
      $0.limits.totalTimeMillis = 30_000
    }
    async let underWay = outcomes(of: 1, fetcher, "/slow/first")
    while try await text(fetcher, "/asked/first", for: "other") != "1" { try await Task.sleep(for: .milliseconds(10)) }
    async let waiting = outcomes(of: 2, fetcher, "/slow")
    #expect(await eventually { fetcher.fetcher.waitingCount == 2 })
    #expect(await outcomes(of: 3, fetcher, "/slow") == Array(repeating: .overloaded, count: 3))
    #expect(fetcher.fetcher.waitingCount == 2, "the refusals waited for no other fetch")
    await fetcher.stop(0)
    #expect(await underWay + waiting == Array(repeating: .closed, count: 3))
  }

  @Test func `a provider that hangs, with all its transfers in use and many waiting, delays no other`() async throws {
    let fetcher = try fetcher {
      $0.limits.perProviderMax = 2
      $0.limits.waitingPerProviderMax = 4
      $0.limits.totalTimeMillis = 30_000
    }
    async let hanging = outcomes(of: 7, fetcher, "/hang", for: "ill")
    #expect(await eventually { fetcher.fetcher.waitingCount == 4 })
    for _ in 0..<20 { #expect(try await text(fetcher, "/ok", for: "well") == #"{"keys":[]}"#) }
    #expect(fetcher.fetcher.waitingCount == 4, "the others still hang")
    await fetcher.stop(0)
    #expect(await hanging.filter { $0 == .overloaded }.count == 1)
  }

  @Test func `a failing provider is not asked during a pause, then tried once, and used again when it answers`()
    async throws
  {
    let fetcher = try fetcher {
      $0.limits.failuresMax = 3
      $0.limits.pauseMillis = 3_000
    }
    let path = "/failing/ill/4"
    for _ in 0..<3 { _ = try await text(fetcher, path, for: "ill") }
    #expect(fetcher.fetcher.breakers["ill"] == .init(isOpen: true, openings: 1))
    #expect(await outcomes(of: 5, fetcher, path, for: "ill") == Array(repeating: .circuitOpen, count: 5))
    // Other providers' fetches still work, and a 404 counts as an answer.
    for _ in 0..<5 { #expect(try await text(fetcher, "/missing", for: "well") == "no such page") }
    #expect(fetcher.fetcher.breakers["well"] == .init(isOpen: false, openings: 0))
    try await Task.sleep(for: .milliseconds(3_010))
    // The fourth failure is that of the trial request.
    #expect(await outcomes(of: 1, fetcher, path, for: "ill") == [nil])
    #expect(await outcomes(of: 1, fetcher, path, for: "ill") == [.circuitOpen])
    try await Task.sleep(for: .milliseconds(3_010))
    #expect(await outcomes(of: 1, fetcher, path, for: "ill") == [nil])
    #expect(fetcher.fetcher.breakers["ill"] == .init(isOpen: false, openings: 2))
    #expect(await outcomes(of: 4, fetcher, path, for: "ill") == [nil, nil, nil, nil])
    #expect(try await text(fetcher, "/asked/ill") == "9")
  }

  @Test(arguments: ["/redirect", "/huge"])
  func `an answer of the wrong kind does not open the breaker, since one user's token may cause it`(
    path: String
  ) async throws {
    let fetcher = try fetcher { $0.limits.failuresMax = 2 }
    for _ in 0..<3 { #expect(await outcomes(of: 1, fetcher, path) != [.circuitOpen]) }
    #expect(await outcomes(of: 1, fetcher, "/ok") == [nil])
  }

  @Test(arguments: ["/hang", "/reset", "/garbage"])
  func `every kind of failure opens the breaker`(path: String) async throws {
    let fetcher = try fetcher {
      $0.limits.failuresMax = 2
      $0.limits.totalTimeMillis = 1_000
    }
    for _ in 0..<2 { #expect(await outcomes(of: 1, fetcher, path) != [.circuitOpen]) }
    #expect(await outcomes(of: 1, fetcher, "/ok") == [.circuitOpen])
  }

  @Test func `consecutive fetches use the same connection`() async throws {
    let fetcher = try fetcher()
    var ports: Set<String> = []
    for _ in 0..<20 { ports.insert(try await text(fetcher, "/peer")) }
    #expect(ports.count == 1)
  }

  @Test func `no more idle connections are kept than the limit`() async throws {
    let fetcher = try fetcher { $0.limits.connectionsKeptMax = 2 }
    func ports(_ round: String) async throws -> Set<String> {
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<6 { group.addTask { try await text(fetcher, "/busy/\(round)/6") } }
        return try await group.reduce(into: []) { $0.insert($1) }
      }
    }
    let (first, second) = (try await ports("first"), try await ports("second"))
    #expect(first.count == 6 && second.count == 6)
    #expect(first.intersection(second).count == 2)
  }

  @Test func `a fetch runs on the reactor that requested it, and its task continues there`() async throws {
    let fetcher = try fetcher(reactors: 2)
    _ = try await text(fetcher, "/ok")
    // The first reactor is blocked during this test.
    let (held, free) = (Wakeups(), Wakeups())
    let holding = Task(executorPreference: fetcher.threads[0].commandQueue) {
      held.signal()
      free.wait()
    }
    held.wait()
    let (before, after) = try await Task(executorPreference: fetcher.threads[1].commandQueue) {
      let before = pthread_self()
      _ = try await fetcher.get(LocalServer.shared.url("/ok"))
      return (before, pthread_self())
    }.value
    #expect(before == after)
    free.signal()
    await holding.value
  }

  @Test func `when a reactor ends, its fetches are closed and another reactor runs later ones`() async throws {
    let fetcher = try fetcher(reactors: 2)
    async let failures = outcomes(of: 3, fetcher, "/slow/ended", for: "slow")
    while try await text(fetcher, "/asked/ended") != "3" { try await Task.sleep(for: .milliseconds(10)) }
    await fetcher.stop(0)
    #expect(await failures == Array(repeating: .closed, count: 3))
    #expect(try await text(fetcher, "/ok") == #"{"keys":[]}"#)
    await fetcher.stop(1)
    await #expect(throws: FetchError.closed) { try await fetcher.get(LocalServer.shared.url("/ok")) }
  }

  @Test func `a mail goes to an idle driver, and not to one that was closed during a mail`() async throws {
    ignoreBrokenPipes()
    let fetcher = try CurlFetcher(FetchSettings(), mailsMax: 3)
    @Sendable func send(toPort port: Int) async -> FetchError? {
      let mail = MailRequest(
        host: "127.0.0.1", port: UInt16(port), security: .none, heloName: "us.example", sender: "a@us.example",
        recipient: "b@them.example", bytes: [1])
      do {
        _ = try await fetcher.send(mail)
        return nil
      } catch { return error as? FetchError }
    }
    let driver = try fetcher.driver(0)
    let threads = try [1, 2].map { try FetchThread(fetcher, driver: $0, named: "mail-\($0)") }
    let (held, free) = (Wakeups(), Wakeups())
    let holding = Task(executorPreference: threads[0].commandQueue) {
      held.signal()
      free.wait()
    }
    held.wait()
    // The first driver waits for a relay, and the thread of the second one is blocked.
    let first = Task.immediate { await send(toPort: LocalServer.shared.silentPort) }
    driver.turn()
    let second = Task.immediate { await send(toPort: LocalServer.shared.silentPort) }
    driver.close()
    #expect(await first.value == .closed)
    let isDone = Completion()
    // No relay listens on this port. The blocked thread could not report that.
    let third = Task.immediate {
      defer { isDone.end() }
      return await send(toPort: 1)
    }
    #expect(await isDone.wait(millis: 10_000))
    free.signal()
    #expect(await third.value.map { isUnreachable($0) } == true)
    await holding.value
    for thread in threads {
      thread.stop()
      await thread.ended.wait()
    }
    #expect(await second.value == .closed)
  }

  @Test func `closing ends waiting and later fetches, each exactly once`() async throws {
    let fetcher = try fetcher {
      $0.limits.perProviderMax = 2
      $0.limits.totalTimeMillis = 3_000
    }
    async let failures = outcomes(of: 5, fetcher, "/slow")
    #expect(await eventually { fetcher.fetcher.waitingCount == 3 })
    fetcher.fetcher.close()
    await #expect(throws: FetchError.closed) { try await fetcher.get(LocalServer.shared.url("/ok")) }
    #expect(await failures.filter { $0 == .closed }.count == 3)
    fetcher.fetcher.close()
  }
}
