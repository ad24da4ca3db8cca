package import Store

/// Rules that an operator can set. Every default is the safe choice.
package struct Policy: Sendable {
  /// Whether the server may resolve a conflict without asking the user (S5).
  package enum AutoLink: String, Sendable, CaseIterable { case off, authoritative }
  /// Lowest tier at which an assertion takes over an account with an unverified email address (S6a).
  package enum Reclaim: String, Sendable, CaseIterable { case authoritative, verified, refuse }
  /// Lowest tier at which a conflict names the sign-in methods of the other account.
  package enum ConflictReveals: String, Sendable, CaseIterable { case verified, always }
  /// Whether Create makes an account immediately, or only after its email address is verified, or whether users cannot
  /// create accounts at all.
  package enum SignUp: String, Sendable, CaseIterable {
    case immediate
    case verifyFirst = "verify_first"
    case closed
  }

  /// Whether codes of six digits are sent by email, and whether the same email may have a link.
  package enum EmailCodes: String, Sendable, CaseIterable {
    case off, code
    case codeAndLink = "code_and_link"
  }

  /// What a sign count that does not rise causes, apart from an event.
  package enum PasskeySignCount: String, Sendable, CaseIterable { case record, reject }

  package var oneAccountPerEmail = true
  package var autoLink = AutoLink.off
  package var reclaim = Reclaim.authoritative
  package var conflictRevealsMethods = ConflictReveals.verified
  package var signUp = SignUp.immediate
  package var emailDomains = EmailDomainRules()
  /// Beginnings of phone numbers that get codes, such as `+49`. Empty: all numbers do.
  package var phoneCountries: [String] = []
  /// Whose sessions need a second factor. Empty: none.
  package var secondFactorRules: [SecondFactorRule] = []
  package var emailEnumerationProtection = true
  package var requireBinding = false
  package var passwordEnabled = true
  package var anonymousEnabled = true
  package var emailLinkEnabled = false
  package var emailCodes = EmailCodes.off
  package var customTokenEnabled = true
  /// Whether users can sign in with passkeys.
  package var passkeyEnabled = false
  /// Configured relying parties. The server keeps a passkey of another one, but it is not a sign-in method.
  package var relyingPartyIDs: Set<String> = []
  package var passkeysPerAccountMax = 20
  package var passkeySignCount = PasskeySignCount.record
  package var passkeyChallengeLifetimeMillis: Int64 = 300_000
  /// Configured providers. The server keeps an identity of another provider, but it is not a sign-in method.
  package var enabledProviderIDs: Set<String> = []

  /// Subjects of one provider that an account may have (L3). S8 applies with every number.
  package var identitiesPerProviderMax = 1

  package var passwordBytesMin = 8
  package var passwordBytesMax = 1024
  package var importedBcryptCostMax = 14

  package var pendingLifetimeMillis: Int64 = 600_000
  package var pendingAttemptsMax = 5
  package var flowLifetimeMillis: Int64 = 600_000
  package var pendingLimits = PendingLimits(perAccountMax: 20, perCallerMax: 100_000, totalMax: 1_000_000)

  /// Maximum age of `auth_time` for operations that require a recent login.
  package var recentLoginMillis: Int64 = 300_000
  package var linkRecentLoginMillis: Int64 = 3_600_000
  /// Whether a provider's login is recent only if the provider states that it authenticated the user again.
  package var recentLoginConfirmed = false
  /// Windows of operations that do not use `recentLoginMillis`.
  package var recentLoginWindowsMillis: [SensitiveOperation: Int64] = [:]
  /// Time after which the server removes an unused anonymous account. 0 disables the removal.
  package var anonymousIdleMillis: Int64 = 30 * 86_400_000

  package var idTokenLifetimeMillis: Int64 = 3_600_000
  package var sessionCookiesEnabled = false
  /// Requested lifetimes of session cookies, in milliseconds.
  package static let sessionCookieMillis: ClosedRange<Int64> = 300_000...1_209_600_000
  package var customTokenLifetimeMaxMillis: Int64 = 3_600_000
  package var refreshGraceMillis: Int64 = 10_000
  package var sessionIdleMillis: Int64 = 30 * 86_400_000
  package var sessionAbsoluteMillis: Int64 = 180 * 86_400_000
  package var throttles = ThrottleRules()
  /// Lifetimes of sessions that passed a second factor (check 92: NIST SP 800-63B-4, AAL2). If the lifetimes of other
  /// sessions are shorter, those apply.
  package var secondFactorSessionIdleMillis: Int64 = 3_600_000
  package var secondFactorSessionAbsoluteMillis: Int64 = 86_400_000
  /// Maximum number of sessions in one answer, which contains the latest sessions of the account.
  package var sessionsListedMax = 200
  /// Retention of audit rows. Clients can watch events of the same period.
  package var auditLifetimeMillis: Int64 = 400 * 86_400_000
  /// Retention of failed attempts and of records of sent messages.
  package var failureLifetimeMillis: Int64 = 30 * 86_400_000
  package var idempotencyLifetimeMillis: Int64 = 86_400_000
  /// Whether a mail transport and an SMS transport are configured. Without one, the server rejects calls that need it
  /// and writes no notices for it.
  package var mailEnabled = false
  package var textMessagesEnabled = false
  /// Whether mail can go to local parts with non-ASCII characters (RFC 6531). Without it, calls that enter such an
  /// address reject it.
  package var mailsUTF8Mailboxes = true
  package var deliveryQueueMax = 100_000
  /// Number of waiting messages at which the server stops queueing notices. The rest of the queue is for codes and
  /// links.
  package var noticeQueueMax: Int { max(1, deliveryQueueMax - deliveryQueueMax / 4) }
  /// How long the server tries to send a notice.
  package var noticeLifetimeMillis: Int64 = 3 * 86_400_000
  /// Name of this service in authenticator apps.
  package var totpIssuer = "Latchkey"
  /// Limits of second factors: factors per account without recovery codes, and the lifetime, attempts and sends of a
  /// code for one sign-in.
  package var factorsMax = 5
  package var factorCodeLifetimeMillis: Int64 = 600_000
  package var factorCodeAttemptsMax = 5
  package var factorCodeSendsMax = 3
  /// Whether users can sign in by a code sent to a phone.
  package var phoneEnabled = false
  package var codeAttemptsMax = 5
  package var phoneCodeLifetimeMillis: Int64 = 600_000
  package var emailCodeLifetimeMillis: Int64 = 600_000
  package var emailLinkLifetimeMillis: Int64 = 6 * 3_600_000
  package var signUpLifetimeMillis: Int64 = 6 * 3_600_000
  package var emailVerificationLifetimeMillis: Int64 = 3 * 86_400_000
  package var invitationLifetimeMillis: Int64 = 7 * 86_400_000
  package var passwordResetLifetimeMillis: Int64 = 3_600_000
  package var emailChangeLifetimeMillis: Int64 = 3_600_000
  /// How long the owner of the old email address can revert a change of address.
  package var emailRevertLifetimeMillis: Int64 = 3 * 86_400_000
  /// Maximum number of decisions for a call. If all lose a race, the call fails with OVERLOADED.
  package var decisionsMax = 8

  package init() {}
}

extension Policy {
  /// Limits of pending codes.
  ///
  /// An account has one code for each purpose, so it needs no limit per account. Such a limit would reveal who has an
  /// account (check 39).
  var codeLimits: PendingLimits {
    PendingLimits(perAccountMax: .max, perCallerMax: pendingLimits.perCallerMax, totalMax: pendingLimits.totalMax)
  }

  /// Reports whether a sign-in method is enabled: a configured provider, or one of the service's own methods.
  func enables(_ providerID: String) -> Bool {
    switch providerID {
    case SignInMethods.phone: phoneEnabled
    case SignInMethods.emailLink: mailboxEnabled
    case SignInMethods.passkey: passkeyEnabled
    default: enabledProviderIDs.contains(providerID)
    }
  }

  /// Whether users can sign in with what is sent to their mailbox: a link, or a code.
  var mailboxEnabled: Bool { emailLinkEnabled || emailCodes != .off }
}
