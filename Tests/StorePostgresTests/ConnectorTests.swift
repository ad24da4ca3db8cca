import Reactor
import Store
import Testing

@testable import StorePostgres

@Suite struct ConnectorTests {
  private final class ConnectionPool {}

  @Test func `each pool gets a connection before any gets its second`() {
    let pools = [ConnectionPool(), ConnectionPool(), ConnectionPool()]
    var waiting = ConnectionWaiters<ConnectionPool>()
    for (pool, count) in zip(pools, [3, 1, 2]) { for _ in 0..<count { waiting.add(pool) } }
    var request: [Int?] = []
    while let pool = waiting.next() { request.append(pools.firstIndex { $0 === pool }) }
    #expect(request == [0, 1, 2, 0, 2, 0])
  }

  @Test func `a pool that was released gets no connection`() {
    let (gone, other) = (ConnectionPool(), ConnectionPool())
    var waiting = ConnectionWaiters<ConnectionPool>()
    for pool in [gone, gone, other] { waiting.add(pool) }
    waiting.removeAll { $0 === gone }
    #expect(waiting.next() === other && waiting.next() == nil)
  }

  @Test func `a host that was found late is tried first, until it fails`() {
    let host = Host(name: "db2", address: "192.0.2.2", port: "5432")
    var memory = HostMemory()
    memory.connected(to: host, tookMillis: HostMemory.promptMillis - 1)
    #expect(memory.preferred == nil, "if all hosts answer, they are tried in the operator's order")
    memory.connected(to: host, tookMillis: HostMemory.promptMillis)
    #expect(memory.preferred == host)
    memory.connected(to: host, tookMillis: 1)
    #expect(memory.preferred == host)
    memory.failed()
    #expect(memory.preferred == nil)
  }

  @Test(.enabled(if: Place.isThere))
  func `a silent host delays only one connection attempt, not each`() async throws {
    let place = try Place()
    await (try place.open()).close()
    let session = try place.session()
    defer { session.abandon() }
    let host = try #require(session.host)
    // The kernel accepts connections for this port, but no server answers.
    let silent = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 64)
    let options = Options(
      conninfo: "\(place.conninfo) host=127.0.0.1,\(host.name) port=\(silent.port),\(host.port)")
    let connector = Connector(options, Availability(nil))
    let inboxes = [try CommandQueue<PoolCommand>(), try CommandQueue<PoolCommand>()]
    for inbox in inboxes { for _ in 0..<3 { connector.want(inbox) } }
    let begun = ContinuousClock.now
    startThread(named: "connector") { connector.run() }
    var made = [0, 0]
    while made != [3, 3], begun.duration(to: .now) < .seconds(20) {
      try await Task.sleep(for: .milliseconds(10))
      for (index, inbox) in inboxes.enumerated() {
        for case .connection(let connection) in inbox.takeFromPoll() {
          connection.abandon()
          made[index] += 1
        }
      }
    }
    connector.close()
    #expect(made == [3, 3])
    // Two seconds for each would take twelve.
    #expect(begun.duration(to: .now) < .seconds(11))
  }
}
