internal import Observability
internal import Reactor
internal import Synchronization

/// The end of the server: drains and stops the parts, and logs how long each of them takes.
final class Shutdown: Sendable {
  struct Limits {
    /// Time after which the log names the part that the server waits for.
    var lateMillis: Int64
    /// Time after which the server gives up.
    var totalMillis: Int64
  }

  private enum Phase: String, CaseIterable { case drain, stop }

  private let log: Log
  private let limits: Limits
  /// The part that the server waits for, as fields of the log.
  private let current = Mutex<[String: String]?>(nil)

  init(_ log: Log, _ limits: Limits) {
    self.log = log
    self.limits = limits
  }

  /// Drains all parts, then stops them: no part ends while another may still need it. If a part exceeds a limit of its
  /// own, the others still end. A part without such a limit, such as the store, delays them up to the limit for all.
  /// - Parameter giveUp: called on a thread of its own when the limit for all parts is over. It must end the process.
  /// - Returns: whether all parts have ended.
  func run(_ list: PartList, giveUp: @escaping @Sendable () -> Void) async -> Bool {
    // Blocked parts may occupy every thread of the task pool, so no task can enforce the limit.
    startThread(named: "end-limit") { [self] in
      sleepThread(millis: UInt32(clamping: limits.totalMillis))
      guard let unended = current.withLock(\.self) else { return }
      log.error("the server gives up waiting for a part", unended)
      giveUp()
    }
    var haveEnded = true
    for phase in Phase.allCases {
      for part in list.parts.reversed() {
        if await !ends(part, phase) { haveEnded = false }
      }
    }
    current.withLock { $0 = nil }
    return haveEnded
  }

  private func ends(_ part: any Part, _ phase: Phase) async -> Bool {
    let fields = ["part": part.name, "phase": phase.rawValue]
    current.withLock { $0 = fields }
    let begun = monotonicMillis()
    let alarm = Task.detached { [log, limits] in
      do { try await Task.sleep(nanoseconds: UInt64(limits.lateMillis) * 1_000_000) } catch { return }
      log.warning("a part is late", fields)
    }
    defer { alarm.cancel() }
    do {
      switch phase {
      case .drain: try await part.drain()
      case .stop: try await part.stop()
      }
    } catch {
      log.error("a part does not end", fields.merging(["why": "\(error)"]) { $1 })
      return false
    }
    log.debug("part ended", fields.merging(["took_millis": "\(monotonicMillis() - begun)"]) { $1 })
    return true
  }
}
