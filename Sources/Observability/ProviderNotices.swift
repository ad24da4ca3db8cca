internal import Providers
internal import Synchronization
package import Tokens

/// Log of provider facts for the operator. Each fact is logged once, or once an hour if it prevents sign-ins.
package final class ProviderNotices: Sendable {
  static let repeatMillis: Int64 = 3_600_000
  /// Maximum number of remembered facts. Past it, new facts are no longer logged, but the metric still counts them.
  static let factsMax = 512

  private let log: Log
  private let metrics: ServerMetrics
  private let nowMillis: @Sendable () -> Int64
  private let logged = Mutex<[String: Int64]>([:])

  package init(_ log: Log, _ metrics: ServerMetrics, nowMillis: @escaping @Sendable () -> Int64) {
    self.log = log
    self.metrics = metrics
    self.nowMillis = nowMillis
  }

  /// Logs skipped entries of a provider's key set. Providers publish keys for other uses on purpose, so those are
  /// logged at `info`.
  package func skipped(_ keys: [SkippedKey], of provider: String) {
    for key in keys {
      metrics.skipped(key.reason, of: provider)
      let name = key.keyID.map(LoggedText.short) ?? "entry \(key.index + 1)"
      guard isNew("\(provider) \(key.reason.rawValue) \(name)", within: .max) else { continue }
      let fields = ["provider": provider, "key": name, "reason": key.reason.rawValue]
      if key.reason.isOrdinary {
        log.info("skipped a provider key that is not for signature verification", fields)
      } else {
        log.warning("skipped an unusable provider key", fields)
      }
    }
  }

  package func misconfigured(_ provider: String, why: String, fix: String) {
    guard isNew("\(provider) \(why)", within: ProviderNotices.repeatMillis) else { return }
    log.warning("a provider is misconfigured", ["provider": provider, "why": why, "fix": fix])
  }

  private func isNew(_ fact: String, within millis: Int64) -> Bool {
    let now = nowMillis()
    return logged.withLock { logged in
      if let last = logged[fact] {
        guard now >= last, now - last >= millis else { return false }
      } else if logged.count >= ProviderNotices.factsMax {
        return false
      }
      logged[fact] = now
      return true
    }
  }
}
