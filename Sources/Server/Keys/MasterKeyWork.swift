internal import Encodings
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization

/// The periodic work for master keys: confirms which keys this server has, counts the rows that are sealed under each,
/// and seals rows under the first key again.
///
/// Several servers may do this at the same time, and each may be killed at any point: every portion is complete by
/// itself (`SealAgain`), and the next pass finds what is left.
final class MasterKeyWork: Sendable {
  struct Times: Sendable {
    var noteMillis = MasterKeyTimes.noteMillis
    /// Pauses between passes: while rows wait to be sealed again, while there are several keys, and otherwise.
    var busyMillis: Int64 = 20_000
    var changeMillis: Int64 = 600_000
    var idleMillis: Int64 = 24 * 3_600_000
    var logMillis: Int64 = 30_000
  }

  /// Read for each step, because a reload may change the policy.
  private let environment: @Sendable () -> Environment
  /// Whether other servers may use the store at the same time.
  private let isShared: Bool
  private let metrics: ServerMetrics
  private let log: Log
  private let times: Times
  private let counted = Mutex<[MasterKeyStatus]?>(nil)
  private let passMillis = Mutex<Int64>(0)
  /// The keys whose absence is already logged.
  private let missing = Mutex<Set<MasterKeyID>>([])

  init(
    _ environment: @escaping @Sendable () -> Environment, isShared: Bool, _ metrics: ServerMetrics, _ log: Log,
    _ times: Times = Times()
  ) {
    self.environment = environment
    self.isShared = isShared
    self.metrics = metrics
    self.log = log
    self.times = times
  }

  /// The result of the last count, for metrics. Before the first one, the keys have no rows.
  var statuses: [MasterKeyStatus] {
    counted.withLock(\.self) ?? environment().cryptography.masterKeyIDs.enumerated().map { index, id in
      MasterKeyStatus(id: id, state: index == 0 ? .seals : .unused)
    }
  }

  func run() async {
    // Before the first count, so that the store knows every key that seals a row.
    await attempt(note)
    await withDiscardingTaskGroup { group in
      group.addTask {
        while await self.rest(millis: self.times.noteMillis) { await self.attempt(self.note) }
      }
      group.addTask {
        repeat { await self.attempt(self.pass) } while await self.rest(millis: self.pauseMillis())
      }
    }
  }

  private func attempt(_ work: () async throws -> Void) async {
    do {
      try await work()
    } catch is CancellationError {
      // The server is stopping.
    } catch {
      log.error("the work for master keys failed", ["why": "\(error)"])
    }
  }

  /// Returns false if the server is stopping.
  private func rest(millis: Int64) async -> Bool {
    try? await Task.sleep(nanoseconds: UInt64(millis) * 1_000_000)
    return !Task.isCancelled
  }

  private func note() async throws { try await NoteMasterKeys(environment())() }

  /// Passes read all sealed rows, so they take at most a tenth of the time.
  private func pauseMillis() -> Int64 {
    guard let statuses = counted.withLock(\.self) else { return times.busyMillis }
    let waits = statuses.contains { [.opens, .sealsElsewhere].contains($0.state) && $0.rowCount > 0 }
    let hasSettled = statuses.allSatisfy { [.seals, .removed].contains($0.state) }
    let pause = waits ? times.busyMillis : hasSettled ? times.idleMillis : times.changeMillis
    return max(pause, 9 * passMillis.withLock(\.self))
  }

  /// Counts all rows, reports keys that are missing, and seals rows again if any server is due to.
  func pass() async throws {
    let before = try await count()
    reportMissing(before)
    let due = before.filter(isDue)
    guard !due.isEmpty else { return }
    try await sealAgain(due)
    for status in try await count() where status.state == .agesOut || status.state == .removable {
      log.info("no row needs the master key", [
        "key": status.id.text, "needed_until": status.neededUntil.map { rfc3339($0.millis) } ?? "",
      ])
    }
  }

  private func count() async throws -> [MasterKeyStatus] {
    let begun = monotonicMillis()
    let statuses = try await InspectMasterKeys(environment())()
    counted.withLock { $0 = statuses }
    passMillis.withLock { $0 = monotonicMillis() - begun }
    return statuses
  }

  /// Whether this server seals the rows of a key again. A server with a store of its own need not wait for others.
  private func isDue(_ status: MasterKeyStatus) -> Bool {
    guard status.rowCount > 0 else { return false }
    return switch status.state {
    case .opens: true
    case .sealsElsewhere: !isShared
    case .seals, .agesOut, .removable, .unused, .missing, .removed: false
    }
  }

  private func sealAgain(_ due: [MasterKeyStatus]) async throws {
    let total = due.reduce(0) { $0 + $1.rowCount }
    let first = environment().cryptography.masterKeyIDs[0]
    let names = ["from": due.map(\.id.text).joined(separator: ","), "to": first.text]
    log.info("sealing rows again", names.merging(["rows": "\(total)"]) { $1 })
    var (seen, logged, begun) = (0, monotonicMillis(), monotonicMillis())
    let end = try await SealAgain(environment())(of: Set(due.map(\.id))) { progress in
      metrics.sealedAgain(progress.sealedRows - seen)
      seen = progress.sealedRows
      let now = monotonicMillis()
      if now - logged >= times.logMillis {
        log.info("rows sealed again so far", names.merging(["rows": "\(seen)", "of": "\(total)"]) { $1 })
        logged = now
      }
      // As long as the portion took, so that calls have the store at least half of the time.
      try await Task.sleep(nanoseconds: UInt64(min(1_000, max(1, now - begun))) * 1_000_000)
      begun = monotonicMillis()
    }
    log.info("rows sealed again", names.merging(["rows": "\(end.sealedRows)"]) { $1 })
    if end.unopenedRows > 0 {
      log.error("rows do not open under the master key that they name", names.merging([
        "rows": "\(end.unopenedRows)",
      ]) { $1 })
    }
  }

  private func reportMissing(_ statuses: [MasterKeyStatus]) {
    for status in statuses where status.state == .missing {
      guard missing.withLock({ $0.insert(status.id).inserted }) else { continue }
      var fields = ["key": status.id.text, "setting": "secrets.master_key_files"]
      for (table, count) in status.rows { fields[table.rawValue] = "\(count)" }
      log.error("rows are sealed under a master key that this server does not have", fields)
    }
  }
}
