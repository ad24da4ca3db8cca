package import Store

/// The rules an operator may set. Every default is the safe one.
package struct Policy: Sendable {
  /// Whether a conflict may be resolved without asking the person (S5).
  package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }
  /// From which tier on an assertion takes over an account that nobody proved (S6a).
  package enum Reclaim: String, Sendable, CaseIterable { case authoritative, verified, refuse }
  /// From which tier on a conflict names the ways in of the account it met.
  package enum ConflictReveals: String, Sendable, CaseIterable { case verified, always }
  /// Whether Create makes an account at once, or only once its address is proved.
  package enum SignUp: String, Sendable, CaseIterable {
    case immediate
    case verifyFirst = "verify_first"
  }

  package var oneAccountPerEmail = true
  package var autoLink = AutoLink.off
  package var reclaim = Reclaim.authoritative
  package var conflictRevealsMethods = ConflictReveals.verified
  package var signUp = SignUp.immediate
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
  package var flowLifetimeMillis: Int64 = 600_000
  package var pendingLimits = PendingLimits(perAccountMax: 20, perCallerMax: 100_000, totalMax: 1_000_000)

  /// Recent login: how old `auth_time` may be, per operation.
  package var recentLoginMillis: Int64 = 300_000
  package var linkRecentLoginMillis: Int64 = 3_600_000
  /// Whether a provider's login is recent only where the provider says that the person proved itself.
  package var recentLoginConfirmed = false
  /// Where an operation has a window of its own instead of `recentLoginMillis`.
  package var recentLoginWindowsMillis: [SensitiveOperation: Int64] = [:]
  /// How long an anonymous account may go unused before it is removed; 0: for ever.
  package var anonymousIdleMillis: Int64 = 30 * 86_400_000

  package var idTokenLifetimeMillis: Int64 = 3_600_000
  package var customTokenLifetimeMaxMillis: Int64 = 3_600_000
  package var refreshGraceMillis: Int64 = 10_000
  package var sessionIdleMillis: Int64 = 30 * 86_400_000
  package var sessionAbsoluteMillis: Int64 = 180 * 86_400_000
  package var throttles = ThrottleRules()
  /// Of sessions that passed a second factor (check 92: NIST SP 800-63B-4, AAL2). Where they are longer than those of
  /// any session, the shorter ones hold.
  package var secondFactorSessionIdleMillis: Int64 = 3_600_000
  package var secondFactorSessionAbsoluteMillis: Int64 = 86_400_000
  /// Of one account in one answer, the latest.
  package var sessionsListedMax = 200
  /// How long audit rows are kept, and so from how far back events can be watched.
  package var auditLifetimeMillis: Int64 = 400 * 86_400_000
  package var idempotencyLifetimeMillis: Int64 = 86_400_000
  /// Whether there is a road for mail, and one for text messages: without it what needs one is not allowed, and no
  /// notice is written.
  package var mailEnabled = false
  package var textMessagesEnabled = false
  /// Whether mail can go to local parts with other characters than ASCII (RFC 6531). Without it, calls that enter such
  /// an address reject it.
  package var mailsUTF8Mailboxes = true
  package var deliveryQueueMax = 100_000
  /// The number of waiting messages from which on no notice is queued. The rest of the queue is for codes and links.
  package var noticeQueueMax: Int { max(1, deliveryQueueMax - deliveryQueueMax / 4) }
  /// How long a notice is tried to be sent.
  package var noticeLifetimeMillis: Int64 = 3 * 86_400_000
  /// What authenticator programs call the accounts of this service.
  package var totpIssuer = "Latchkey"
  /// Second factors: how many beside recovery codes, and of a code how long it lives, how often it is tried, and how
  /// often it is sent for one sign-in.
  package var factorsMax = 5
  package var factorCodeLifetimeMillis: Int64 = 600_000
  package var factorCodeAttemptsMax = 5
  package var factorCodeSendsMax = 3
  /// Sign-in by a code to a telephone.
  package var phoneEnabled = false
  package var codeAttemptsMax = 5
  package var phoneCodeLifetimeMillis: Int64 = 600_000
  package var emailLinkLifetimeMillis: Int64 = 6 * 3_600_000
  package var signUpLifetimeMillis: Int64 = 6 * 3_600_000
  package var emailVerificationLifetimeMillis: Int64 = 3 * 86_400_000
  package var passwordResetLifetimeMillis: Int64 = 3_600_000
  package var emailChangeLifetimeMillis: Int64 = 3_600_000
  /// How long the old address can take back a change of address.
  package var emailRevertLifetimeMillis: Int64 = 3 * 86_400_000
  /// How often a use case decides again after lost races before it gives up as OVERLOADED.
  package var decisionsMax = 8

  package init() {}
}

extension Policy {
  /// Of codes an account holds one for each purpose, so that no maximum of its own is needed; and one would tell who
  /// has an account (check 39).
  var codeLimits: PendingLimits {
    PendingLimits(perAccountMax: .max, perCallerMax: pendingLimits.perCallerMax, totalMax: pendingLimits.totalMax)
  }

  /// Whether this way in is open: a configured provider, or one of our own.
  func enables(_ providerID: String) -> Bool {
    switch providerID {
    case WaysIn.phone: phoneEnabled
    case WaysIn.emailLink: emailLinkEnabled
    default: enabledProviderIDs.contains(providerID)
    }
  }
}
