internal import Admission
internal import Encodings
internal import Identity
internal import Store

extension Settings {
  mutating func readPolicy(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("policy") { group throws(ConfigurationError) in
      policy.oneAccountPerEmail = try group.flag(
        "one_account_per_email", true, "an address belongs to one account at most")
      policy.autoLink = try group.choice(
        "auto_link", Policy.AutoLink.off, "link without asking where both sides proved the address")
      policy.reclaim = try group.choice(
        "reclaim", Policy.Reclaim.authoritative, "which assertions take over an account that nobody proved")
      policy.conflictRevealsMethods = try group.choice(
        "conflict_reveals_methods", Policy.ConflictReveals.verified,
        "from which tier on a conflict names the ways in to callers without fetch_by_email")
      policy.signUp = try group.choice(
        "sign_up", Policy.SignUp.immediate, "whether an account of a password is made before its address is proved")
      policy.emailEnumerationProtection = try group.flag(
        "email_enumeration_protection", true, "answer look-ups by address alike for callers without fetch_by_email")
      policy.requireBinding = try group.flag(
        "require_binding", false, "demand `binding` wherever a sign-in, link or proof begins or ends")
      policy.passwordEnabled = try group.flag("password", true, "sign-in with address and password")
      policy.anonymousEnabled = try group.flag("anonymous", true, "anonymous accounts")
      policy.customTokenEnabled = try group.flag(
        "custom_token", true, "sign-in with tokens that an administrator or one of custom_token_signers minted")
      policy.totpIssuer = try group.text("totp_issuer", "Latchkey", "what authenticator programs call this service")
      policy.emailLinkEnabled = try group.flag("email_link", false, "sign-in by a mailed link, where mail is sent")
      policy.phoneEnabled = try group.flag(
        "phone", false, "sign-in by a code to a telephone, where text messages are sent")
      policy.recentLoginMillis = try group.seconds(
        "recent_login_seconds", 300, 1...86_400, "how old a login may be for sensitive operations")
      policy.linkRecentLoginMillis = try group.seconds(
        "link_recent_login_seconds", 3_600, 1...86_400, "how old a login may be for Link")
      policy.recentLoginConfirmed = try group.flag(
        "recent_login_confirmed", false,
        "count a provider's login as recent only where the provider says that the person proved itself")
      try readRecentLoginWindows(&group)
      policy.anonymousIdleMillis = try group.seconds(
        "anonymous_idle_seconds", 2_592_000, 0...31_536_000,
        "how long an anonymous account may go unused before it is removed; 0: for ever")
      policy.pendingLifetimeMillis = try group.seconds(
        "pending_lifetime_seconds", 600, 1...900, "how long a conflict waits for its completion")
      policy.flowLifetimeMillis = try group.seconds(
        "flow_lifetime_seconds", 600, 30...600, "how long a person may take at a provider")
      policy.pendingAttemptsMax = try group.integer(
        "pending_attempts_max", 5, 1...100, "refused completions of one row")
      policy.pendingLimits = PendingLimits(
        perAccountMax: try group.integer(
          "pending_per_account_max", 20, 1...10_000, "rows held for one account, of strangers and of others each"),
        perCallerMax: try group.integer(
          "pending_per_caller_max", 100_000, 1...10_000_000, "rows held for one caller and purpose"),
        totalMax: try group.integer(
          "pending_total_max", 1_000_000, 1...100_000_000, "rows held for one purpose of all callers"))
      policy.refreshGraceMillis = try group.seconds(
        "refresh_grace_seconds", 10, 0...10, "how long the parent of a refresh token still gets the same successor")
      policy.sessionIdleMillis = try group.seconds(
        "session_idle_seconds", 2_592_000, 60...31_536_000, "end of a session that is not refreshed")
      policy.sessionAbsoluteMillis = try group.seconds(
        "session_absolute_seconds", 15_552_000, 60...157_680_000, "end of any session")
      policy.secondFactorSessionIdleMillis = try group.seconds(
        "second_factor_session_idle_seconds", 3_600, 60...3_600,
        "end of a session that passed a second factor and is not refreshed; its ID tokens live for half of it at most")
      policy.secondFactorSessionAbsoluteMillis = try group.seconds(
        "second_factor_session_absolute_seconds", 86_400, 60...86_400, "end of any session that passed one")
    }
  }

  private mutating func readRecentLoginWindows(_ group: inout SettingsReader) throws(ConfigurationError) {
    for operation in SensitiveOperation.allCases {
      let millis = try group.seconds(
        "\(operation.rawValue)_recent_login_seconds", 0, 0...86_400,
        "the same for \(operation.meaning) alone; 0: as recent_login_seconds")
      if millis > 0 { policy.recentLoginWindowsMillis[operation] = millis }
    }
  }

  static func readCaller(
    _ reader: inout SettingsReader, defaultAudience: String
  ) throws(ConfigurationError) -> CallerSettings {
    // Everything is asked for before anything is judged, so that the list of settings is whole.
    let name = try reader.text("name", "", "what the log, throttles and records call it")
    let san = try reader.text(
      "san", "", "uri:… or dns:…, the name in its client certificate: its first URI, else its first DNS name")
    let hex = try reader.text("api_key_sha256", "", "SHA-256 of its API key, in hex")
    let audiences = try reader.texts(
      "audiences", [defaultAudience], "`aud` of its sessions first, then others it takes")
    let methods = try reader.texts(
      "methods", Settings.ordinaryMethods, patterns: true, "package.Service/Method, package.Service/* or *")
    let mayFetchByEmail = try reader.flag("fetch_by_email", false, "may look up addresses")
    let mayMerge = try reader.flag("merge", false, "may have two accounts merged, on proof of both")
    let redirectURIs = try readRedirectURIs(&reader)
    let mayWatch = try reader.flag("events", false, "may watch the events of all accounts (EventService)")
    guard !name.isEmpty, name.utf8.count <= 128 else { throw reader.wrong("name", "it must have 1 to 128 bytes") }
    var digest: Digest?
    if !hex.isEmpty {
      guard let bytes = Hexadecimal.decode(hex), bytes.count == 32 else {
        throw reader.wrong("api_key_sha256", "it must be 64 hex digits")
      }
      digest = Digest(bytes)
    }
    guard !san.isEmpty || digest != nil else {
      throw reader.wrong("san", "a caller needs a san or an api_key_sha256, or nobody could be it")
    }
    if let fault = CertificateName.fault(of: san) { throw reader.wrong("san", fault) }
    guard !audiences.isEmpty else { throw reader.wrong("audiences", "it must name one at least") }
    for audience in audiences { try reader.checkClaim("audiences", audience) }
    if let wrong = methods.first(where: { !namesMethods($0) }) {
      throw reader.wrong("methods", "\(wrong) names no method")
    }
    return CallerSettings(
      name: name, san: CertificateName.normal(san), apiKeyDigest: digest,
          methods: methods + (mayWatch ? watchMethods : []),
      mayFetchByEmail: mayFetchByEmail, mayMerge: mayMerge, audiences: audiences, redirectURIs: redirectURIs)
  }

  static func readRedirectURIs(_ reader: inout SettingsReader) throws(ConfigurationError) -> [String] {
    let uris = try reader.texts(
      "redirect_uris", [],
      "where providers may send people back to and mailed links lead, byte for byte; https, http on loopback, or a "
        + "program's own scheme")
    for uri in uris where !RedirectURI.isAllowed(uri) {
      throw reader.wrong(
        "redirect_uris",
        "\(uri) is no https address, http on loopback or program's own scheme, without user and fragment")
    }
    return uris
  }

  private static let watchMethods = ["latchkey.v1.EventService/*"]

  /// All but administration and events.
  static let ordinaryMethods = [
    "latchkey.v1.AuthService/*", "latchkey.v1.AccountService/*", "latchkey.v1.SessionService/*",
    "latchkey.v1.ProviderFlowService/*", "latchkey.v1.SecondFactorService/*", "latchkey.v1.VerificationService/*",
  ]
}

extension SensitiveOperation {
  fileprivate var meaning: String {
    switch self {
    case .changePassword: "a new password"
    case .changeEmail: "a new address"
    case .delete: "the deletion of the account"
    case .unlink: "Unlink"
    case .merge: "Merge, of either account"
    case .changeFactors: "a second factor that comes or goes"
    }
  }
}
