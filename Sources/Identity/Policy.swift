package import Store

/// The rules an operator may set. Every default is the safe one.
package struct Policy: Sendable {
  /// Whether a conflict may be resolved without asking the person (S5).
  package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }
  /// From which tier on an assertion takes over an account that nobody proved (S6a).
  package enum Reclaim: String, Sendable, CaseIterable { case authoritative, verified, refuse }
  /// From which tier on a conflict names the ways in of the account it met.
  package enum ConflictReveals: String, Sendable, CaseIterable { case verified, always }

  package var oneAccountPerEmail = true
  package var autoLink = AutoLink.off
  package var reclaim = Reclaim.authoritative
  package var conflictRevealsMethods = ConflictReveals.verified
  package var emailEnumerationProtection = true
  package var requireBinding = false
  package var passwordEnabled = true
  package var anonymousEnabled = true
  package var emailLinkEnabled = false
  package var customTokenEnabled = true
  /// The configured providers; an identity of another one is kept but is no way in.
  package var enabledProviderIDs: Set<String> = []

  package var passwordBytesMin = 8
  package var passwordBytesMax = 1024

  package var pendingLifetimeMillis: Int64 = 600_000
  package var pendingAttemptsMax = 5
  package var pendingLimits = PendingLimits(perAccountMax: 20, perCallerMax: 100_000, totalMax: 1_000_000)

  /// Recent login: how old `auth_time` may be, per operation.
  package var recentLoginMillis: Int64 = 300_000
  package var linkRecentLoginMillis: Int64 = 3_600_000

  package var idTokenLifetimeMillis: Int64 = 3_600_000
  package var customTokenLifetimeMaxMillis: Int64 = 3_600_000
  package var refreshGraceMillis: Int64 = 10_000
  package var sessionIdleMillis: Int64 = 30 * 86_400_000
  package var sessionAbsoluteMillis: Int64 = 180 * 86_400_000
  package var idempotencyLifetimeMillis: Int64 = 86_400_000
  /// How often a use case decides again after lost races before it gives up as OVERLOADED.
  package var decisionsMax = 8

  package init() {}
}
