/// Schedule of signing key rotation.
package struct KeyPolicy: Hashable, Sendable {
  /// Signing time after which a new key replaces a key; `nil` for rotation only on demand.
  package var rotateMillis: Int64? = 90 * 86_400_000
  /// Time from the publication of a key to its first signature.
  package var publishLeadMillis: Int64 = 3_600_000
  /// Maximum lifetime of a token that a key signs.
  package var tokenLifetimeMaxMillis: Int64 = 3_600_000
  /// Maximum clock difference between replicas. A replica with a slow clock still signs with a key that the others have
  /// retired.
  package var skewMillis: Int64 = 60_000

  package init() {}

  /// Maximum lead time. A key that starts later was created by a replica whose clock was ahead.
  package static let publishLeadSecondsMax = 604_800

  /// Poll interval of the keys. Every replica knows a key long before any replica signs with it.
  package var readMillis: Int64 { min(60_000, publishLeadMillis / 4) }

  /// Cache lifetime of the published key set. If a verifier fetched it from the last replica to learn of a new key, it
  /// asks again within `readMillis` plus this time. That is at most three quarters of the lead time.
  package var cacheMillis: Int64 { publishLeadMillis / 2 }

  /// How long a retired key is kept: until the last token that it signed has expired.
  package var keptMillis: Int64 { tokenLifetimeMaxMillis + skewMillis }
}
