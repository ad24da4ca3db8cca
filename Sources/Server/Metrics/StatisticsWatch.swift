internal import Observability
internal import Reactor
internal import Store
internal import Synchronization

/// Periodic reading of the sizes and counts of the store, so that no scrape waits for them.
final class StatisticsWatch: Sendable {
  typealias Read = @Sendable (_ now: Timestamp, _ countingAccounts: Bool) async throws -> StoreStatistics

  private static let pauseMillis: UInt64 = 60_000
  /// Accounts are counted in each n-th reading, because the count reads an index of all of them.
  private static let readingsPerCount = 10

  private let read: Read
  private let failure: LastingFailure
  private let latest = Mutex<(statistics: StoreStatistics, at: Timestamp)?>(nil)

  init(_ read: @escaping Read, log: Log) {
    self.read = read
    failure = LastingFailure(
      log, "the sizes and counts of the store cannot be read", over: "the sizes and counts of the store can be read")
  }

  func report(to registry: MetricsRegistry) {
    func gauge(_ family: MetricFamily, _ value: @escaping @Sendable (StoreStatistics) -> Int?) {
      registry.collect(family) { [self] in
        let value = latest.withLock(\.self).flatMap { value($0.statistics) }
        return value.map { [(.none, .count($0))] } ?? []
      }
    }
    gauge(Catalogue.accounts) { $0.accounts }
    gauge(Catalogue.throttleBlocks) { $0.throttleBlocks }
    registry.collect(Catalogue.storeBytes) { [self] in
      guard let statistics = latest.withLock(\.self)?.statistics else { return [] }
      let log = statistics.logBytes.map { [(Labels([("part", "log")]), Reading.count($0))] } ?? []
      return [(Labels([("part", "database")]), .count(statistics.databaseBytes))] + log
    }
    registry.collect(Catalogue.statisticsRead) { [self] in
      [(.none, .number(Double(latest.withLock(\.self)?.at.millis ?? 0) / 1_000))]
    }
  }

  /// Reads until the task is cancelled.
  func run() async {
    var readings = 0
    while !Task.isCancelled {
      await look(countingAccounts: readings % StatisticsWatch.readingsPerCount == 0)
      readings += 1
      try? await Task.sleep(nanoseconds: StatisticsWatch.pauseMillis * 1_000_000)
    }
  }

  func look(countingAccounts: Bool) async {
    let now = Timestamp(millis: wallMillis())
    do {
      var statistics = try await read(now, countingAccounts)
      latest.withLock { latest in
        if statistics.accounts == nil { statistics.accounts = latest?.statistics.accounts }
        latest = (statistics, now)
      }
      failure.passed()
    } catch StoreError.closed {
      // The server is stopping.
    } catch {
      failure.failed(error)
    }
  }
}
