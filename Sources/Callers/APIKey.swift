package import Store
internal import Synchronization

/// An API key of a caller as the configuration describes it.
package struct APIKeySettings: Hashable, Sendable {
  /// SHA-256 of the key `lk_…`. The server never keeps the key itself.
  package var digest: Digest
  /// From this time on the key is rejected; nil: it does not expire.
  package var notAfter: Timestamp?
  /// Name in the log and in metrics.
  package var name: String

  package init(digest: Digest, notAfter: Timestamp? = nil, name: String = "") {
    self.digest = digest
    self.notAfter = notAfter
    self.name = name
  }
}

/// An API key with its caller and the time of its last use.
package final class APIKey: Sendable {
  package let caller: CallerName
  package let name: String
  package let notAfter: Timestamp?
  let digest: Digest
  /// Monotonic milliseconds of the last use; 0: not used.
  private let usedAtMillis: Atomic<Int64>

  init(_ settings: APIKeySettings, of caller: CallerName, usedAtMillis: Int64) {
    self.caller = caller
    name = settings.name
    notAfter = settings.notAfter
    digest = settings.digest
    self.usedAtMillis = Atomic(usedAtMillis)
  }

  /// Time before its end at which warnings about a key begin.
  package static let warningMillis: Int64 = 14 * 86_400_000

  package func isExpired(at now: Timestamp) -> Bool { notAfter.map { $0 <= now } ?? false }

  /// Whether the key has expired or does so within `warningMillis`.
  package func endsSoon(at now: Timestamp) -> Bool { isExpired(at: now.adding(millis: APIKey.warningMillis)) }

  /// Records a use. Writes at most once a second, because all workers share the value.
  package func used(nowMillis: Int64) {
    guard nowMillis - lastUseMillis >= 1_000 else { return }
    usedAtMillis.store(nowMillis, ordering: .relaxed)
  }

  /// Monotonic milliseconds of the last use, accurate to a second; 0: not used since the start of the server.
  package var lastUseMillis: Int64 { usedAtMillis.load(ordering: .relaxed) }
}
