internal import Identity
internal import Store

extension Settings {
  mutating func readPolicy(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("policy") { group throws(ConfigurationError) in
      policy.oneAccountPerEmail = try group.flag(
        "one_account_per_email", true, "an email address belongs to at most one account")
      policy.autoLink = try group.choice(
        "auto_link", Policy.AutoLink.off, "link automatically if the email address is verified on both sides")
      policy.reclaim = try group.choice(
        "reclaim", Policy.Reclaim.authoritative,
        "minimum email trust of an assertion that takes over an account with an unverified email")
      policy.conflictRevealsMethods = try group.choice(
        "conflict_reveals_methods", Policy.ConflictReveals.verified,
        "minimum email trust for which a conflict names sign-in methods to callers without fetch_by_email")
      policy.signUp = try group.choice(
        "sign_up", Policy.SignUp.immediate,
        "when Create makes an account: before or after its address is verified; closed: only invited users get one")
      try readSignUpRules(&group, path)
      try readSecondFactorRules(&group)
      policy.emailEnumerationProtection = try group.flag(
        "email_enumeration_protection", true, "answer look-ups by email alike for callers without fetch_by_email")
      policy.requireBinding = try group.flag(
        "require_binding", false, "require `binding` at the start and end of every sign-in, link and verification")
      policy.passwordEnabled = try group.flag("password", true, "sign-in with email and password")
      policy.anonymousEnabled = try group.flag("anonymous", true, "anonymous accounts")
      policy.customTokenEnabled = try group.flag(
        "custom_token", true, "sign-in with tokens from an administrator or one of custom_token_signers")
      policy.identitiesPerProviderMax = try group.integer(
        "identities_per_provider_max", 1, 1...10, "maximum identities of one provider that an account may have")
      policy.totpIssuer = try group.text("totp_issuer", "Latchkey", "name of this service in authenticator apps")
      policy.emailLinkEnabled = try group.flag("email_link", false, "sign-in by email link; requires delivery.mail")
      policy.emailCodes = try group.choice(
        "email_code", Policy.EmailCodes.off,
        "codes of six digits by email, alone or with a link in the same email; requires delivery.mail")
      policy.phoneEnabled = try group.flag(
        "phone", false, "sign-in by a code to a phone; requires delivery.text_messages")
      policy.passkeyEnabled = try group.flag("passkey", true, "sign-in with passkeys; requires relying_parties")
      policy.passkeysPerAccountMax = try group.integer(
        "passkeys_per_account_max", 20, 1...100, "maximum passkeys of an account, without those of second factors")
      policy.passkeySignCount = try group.choice(
        "passkey_sign_count", Policy.PasskeySignCount.record,
        "whether a sign count that does not rise is only an event, or also rejects the passkey")
      policy.recentLoginMillis = try group.seconds(
        "recent_login_seconds", 300, 1...86_400, "maximum age of a login for sensitive operations")
      policy.linkRecentLoginMillis = try group.seconds(
        "link_recent_login_seconds", 3_600, 1...86_400, "maximum age of a login for Link")
      policy.recentLoginConfirmed = try group.flag(
        "recent_login_confirmed", false,
        "count a provider's login as recent only if the provider confirms that the user authenticated again")
      try readRecentLoginWindows(&group)
      policy.anonymousIdleMillis = try group.seconds(
        "anonymous_idle_seconds", 2_592_000, 0...31_536_000,
        "how long an anonymous account may be unused before it is removed; 0: never removed")
      try readPending(&group)
      try readSessions(&group)
    }
  }

  private mutating func readPending(_ group: inout SettingsReader) throws(ConfigurationError) {
    policy.pendingLifetimeMillis = try group.seconds(
      "pending_lifetime_seconds", 600, 1...900, "lifetime of a pending credential after a conflict")
    policy.flowLifetimeMillis = try group.seconds(
      "flow_lifetime_seconds", 600, 30...600, "maximum time a user may spend at a provider")
    policy.pendingAttemptsMax = try group.integer(
      "pending_attempts_max", 5, 1...100, "maximum number of failed completions of one pending credential")
    policy.pendingLimits = PendingLimits(
      perAccountMax: try group.integer(
        "pending_per_account_max", 20, 1...10_000,
        "maximum pending rows per account, separately for its user and for unverified clients"),
      perCallerMax: try group.integer(
        "pending_per_caller_max", 100_000, 1...10_000_000, "maximum pending rows per caller and purpose"),
      totalMax: try group.integer(
        "pending_total_max", 1_000_000, 1...100_000_000, "maximum pending rows per purpose for all callers"))
  }

  private mutating func readSessions(_ group: inout SettingsReader) throws(ConfigurationError) {
    policy.refreshGraceMillis = try group.seconds(
      "refresh_grace_seconds", 10, 0...10, "how long a replaced refresh token still returns the same successor")
    policy.sessionIdleMillis = try group.seconds(
      "session_idle_seconds", 2_592_000, 60...31_536_000, "maximum time between refreshes of a session")
    policy.sessionAbsoluteMillis = try group.seconds(
      "session_absolute_seconds", 15_552_000, 60...157_680_000, "maximum lifetime of a session")
    policy.secondFactorSessionIdleMillis = try group.seconds(
      "second_factor_session_idle_seconds", 3_600, 60...3_600,
      "maximum time between refreshes of a session with a second factor; its ID tokens live at most half of it")
    policy.secondFactorSessionAbsoluteMillis = try group.seconds(
      "second_factor_session_absolute_seconds", 86_400, 60...86_400,
      "maximum lifetime of a session with a second factor")
  }

  private mutating func readRecentLoginWindows(_ group: inout SettingsReader) throws(ConfigurationError) {
    for operation in SensitiveOperation.allCases {
      let millis = try group.seconds(
        "\(operation.rawValue)_recent_login_seconds", 0, 0...86_400,
        "maximum age of a login for \(operation.meaning); 0: recent_login_seconds")
      if millis > 0 { policy.recentLoginWindowsMillis[operation] = millis }
    }
  }
}

extension SensitiveOperation {
  fileprivate var meaning: String {
    switch self {
    case .changePassword: "a new password"
    case .changeEmail: "a new email address"
    case .delete: "the deletion of the account"
    case .unlink: "Unlink"
    case .merge: "Merge, of either account"
    case .changeFactors: "changes of second factors"
    case .createSessionCookie: "CreateSessionCookie"
    }
  }
}
