internal import API
internal import Crypto
internal import Encodings

/// A kind of iteration: one call, or several calls that depend on each other.
struct Workload: Sendable {
  let name: String
  let meaning: String
  /// Creates the users. Returns them with the first step of each iteration.
  let prepare: @Sendable (Preparation) throws -> Iterations

  private init(
    _ name: String, _ meaning: String, _ prepare: @escaping @Sendable (Preparation) throws -> Iterations
  ) {
    self.name = name
    self.meaning = meaning
    self.prepare = prepare
  }

  init?(named name: String) {
    guard let found = Workload.all.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  var isHandshake: Bool { name == "handshake" }

  private static let passkeysNeedAnAuthenticator = "it needs the response of an authenticator, which no client makes"

  /// RPCs without a workload, with the reason.
  static let leftOut = [
    (
      call: "ServerReflection/ServerReflectionInfo",
      why: "tools call it once, before the first call, and most servers disable it"
    ),
    (call: "ProviderFlowService/RevokeToken", why: "it waits for a provider, and needs a token of a flow each time"),
    (call: "AdminService/Backup", why: "it copies the whole store, one call at a time, about once a day"),
    (call: "AdminService/GetMasterKeyStatus", why: "it reads all sealed rows, and an operator calls it in a rotation"),
    (call: "AdminService/ListSigningKeys", why: "an operator calls it a few times a year"),
    (call: "AdminService/RotateSigningKeys", why: "it replaces the key of all tokens, a few times a year"),
    (call: "AdminService/RevokeSigningKey", why: "it makes all tokens of a stolen key invalid"),
    (call: "AdminService/CreateEmailLink", why: "it needs a right of its own; send-password-reset does the same work"),
    (call: "AdminService/Invite", why: "support staff calls it; send-password-reset does the same work"),
    (call: "AdminService/SetSecondFactors", why: "support staff calls it; remove-factors does the same work"),
    (call: "AdminService/LinkIdentity", why: "support staff calls it; unlink-provider does the same work"),
    (call: "AdminService/DeleteAccounts", why: "a batch is delete-account, many times in one call"),
    (call: "AdminService/SetAccountsDisabled", why: "a batch is set-disabled, many times in one call"),
    (call: "AdminService/SetTransferSubjects", why: "an operator calls it once, before an app changes its team"),
    (call: "AdminService/ForgetAccount", why: "support staff calls it, seldom"),
    (call: "AdminService/ExportAccount", why: "support staff calls it, for one access request at a time"),
    (call: "PasskeyService/StartRegistration", why: passkeysNeedAnAuthenticator),
    (call: "PasskeyService/FinishRegistration", why: passkeysNeedAnAuthenticator),
    (call: "PasskeyService/StartSignIn", why: passkeysNeedAnAuthenticator),
    (call: "PasskeyService/ListPasskeys", why: passkeysNeedAnAuthenticator),
    (call: "PasskeyService/RenamePasskey", why: passkeysNeedAnAuthenticator),
    (call: "PasskeyService/RemovePasskey", why: passkeysNeedAnAuthenticator),
    (call: "AdminService/ResendMessage", why: "it needs a message that a transport did not accept"),
  ]

  static let all: [Workload] = [
    Workload("health", "Health.Check returns SERVING") { _ in .withoutUsers { _ in .health } },
    Workload("watch-health", "Health.Watch sends SERVING immediately") { _ in .withoutUsers { _ in .watchHealth } },
    Workload("fetch", "FetchProviders with a random account's email address") { preparation in
      if let addresses = preparation.addresses {
        return .withoutUsers { .fetch(email: addresses.draw(&$0), method: nil) }
      }
      return .shared(try preparation.usersWithPasswords()) { .fetch(email: $0.login.email, method: "password") }
    },
    Workload("fetch-pending", "FetchProviders with a pending token returns the pending credential (tokens)") {
      let users = try $0.usersInConflict("fetch-pending", atLeast: 1)
      try $0.run("pending credentials", users) { .fetchPending($0) }
      return .shared(users) { .fetchPending($0) }
    },
    Workload("sign-in-password", "SignIn with a password opens the same account as before") {
      .shared(try $0.usersWithPasswords()) { .signIn(.password($0.login), as: $0) }
    },
    Workload("sign-in-anonymous", "SignIn of a new anonymous user") { _ in .withoutUsers { _ in .signInAnonymous } },
    Workload("sign-in-id-token", "SignIn with a provider's ID token opens the same account each time (tokens)") {
      let users = try $0.usersWithTokens(.signIn, atLeast: 1)
      try $0.run("identities", users) { .openSession($0) }
      return .shared(users) { .signIn(.provider($0.token), as: $0) }
    },
    Workload("sign-in-custom-token", "SignIn with a custom token opens the account that it names (admin key)") {
      let users = try $0.usersWithPasswords()
      try $0.run("custom tokens", users.filter(\.customToken.isEmpty)) { .makeCustomToken($0) }
      return .shared(users) { .signIn(.customToken($0.customToken), as: $0) }
    },
    Workload("refresh", "Refresh of each caller's own session returns new tokens") {
      .exclusive(try $0.usersInSession()) { user, _ in .refresh(user) }
    },
    Workload("link-unlink", "Link with a provider's ID token in a session of the account, then Unlink (tokens)") {
      // Use separate accounts, because the iterations change them.
      let users = try $0.usersWithTokens(.link, atLeast: $0.target.placeCount)
      for user in users { user.login = $0.newLogin() }
      try $0.makeAccounts(users)
      return .exclusive(users) { user, _ in .linkUnlink(user) }
    },
    Workload("reauthenticate", "Reauthenticate with the password of the session's account") {
      .shared(try $0.usersWithPasswords(inSession: true)) { .reauthenticate($0) }
    },
    Workload("create-delete", "Create, then Delete") { preparation in
      .withoutUsers { .createDelete(preparation.login($0.next())) }
    },
    Workload("get", "Get returns the session's account") { .shared(try $0.usersInSession()) { .get($0) } },
    Workload("update", "Update changes the display name") {
      .exclusive(try $0.usersInSession()) { user, generator in
        .update(user, displayName: "Load \(generator.next())")
      }
    },
    Workload("merge", "SignIn of an anonymous user, then Merge into an account ends that user's session (admin key)") {
      .exclusive(try $0.verifiedUsers()) { user, _ in .merge(user) }
    },
    Workload("verify", "VerifyIdToken of an open session returns active and its account") {
      .shared(try $0.usersInSession()) { .verify($0) }
    },
    Workload("signing-keys", "GetSigningKeys returns a key") { _ in .withoutUsers { _ in .signingKeys } },
    Workload("sign-out", "SignIn of an anonymous user, SignOut, then VerifyIdToken returns inactive") { _ in
      .withoutUsers { _ in .signOut }
    },
    Workload("revoke-all", "the same with RevokeAll") { _ in .withoutUsers { _ in .revokeAll } },
    Workload("end-session", "the same with EndSession of the session by its id") { _ in
      .withoutUsers { _ in .endSession }
    },
    Workload("session-cookie", "SignIn of an anonymous user, then a session cookie that is valid") { _ in
      .withoutUsers { _ in .sessionCookie }
    },
    Workload("list-sessions", "ListSessions marks the caller's session as current") {
      .shared(try $0.usersInSession()) { .listSessions($0) }
    },
    Workload("list-providers", "ListProviders lists the provider of start-flow") { preparation in
      .withoutUsers { _ in .listProviders(with: preparation.options.flowProvider) }
    },
    Workload("start-flow", "StartFlow returns an authorization URL (--flow-provider, --redirect-uri)") {
      let options = $0.options
      return .withoutUsers { _ in .startFlow(options.flowProvider, options.redirectURI) }
    },
    Workload("second-factor", "TOTP enrolment, a SignIn that requires the factor, then Withdraw (admin key)") {
      .exclusive(try $0.verifiedUsers()) { user, _ in .secondFactor(user) }
    },
    // Do not use the seeded generator. The server limits messages to one number, also across runs.
    Workload("send-phone-code", "SendPhoneCode to a new phone number") { _ in
      .withoutUsers { _ in .sendPhoneCode("+4915\(Int.random(in: 100_000_000...999_999_999))") }
    },
    Workload("send-email-link", "SendEmailLink to a new email address (--redirect-uri)") { preparation in
      .withoutUsers { .sendEmailLink(preparation.email($0.next()), preparation.options.redirectURI) }
    },
    Workload("send-email-code", "SendEmailCode to a new email address") { preparation in
      .withoutUsers { .sendEmailCode(preparation.email($0.next())) }
    },
    Workload("send-email-verification", "SendEmailVerification in a session of an account with an email address") {
      let redirectURI = $0.options.redirectURI
      return .shared(try $0.usersWithPasswords(inSession: true)) { .sendEmailVerification($0, redirectURI) }
    },
    Workload("send-password-reset", "SendPasswordReset to an account's email address") {
      let redirectURI = $0.options.redirectURI
      return .shared(try $0.usersWithPasswords()) { .sendPasswordReset($0, redirectURI) }
    },
    Workload("send-email-change", "SendEmailChange to a new email address, in a session of an account") { preparation in
      let users = preparation.newUsers()
      try preparation.makeAccounts(users)
      return .exclusive(users) { user, generator in
        .sendEmailChange(user, to: preparation.email(generator.next()), preparation.options.redirectURI)
      }
    },
    Workload("check-code", "CheckCode rejects an invalid code") { _ in
      .withoutUsers { _ in .checkCode(invalidCode()) }
    },
    Workload("confirm-email", "ConfirmEmail rejects an invalid code") { _ in
      .withoutUsers { _ in .confirmEmail(invalidCode()) }
    },
    Workload("reset-password", "ResetPassword rejects an invalid code") { _ in
      .withoutUsers { _ in .resetPassword(invalidCode()) }
    },
    Workload("lookup", "Lookup by email address finds the account (admin key)") {
      .shared(try $0.usersWithPasswords()) { .lookup($0) }
    },
    // Any account will do, but there must be one.
    Workload("list-accounts", "List returns two pages without common accounts (admin key)") {
      .shared(try $0.usersInSession()) { _ in .listAccounts }
    },
    Workload("set-disabled", "SetDisabled ends a session, then enables the account again (admin key)") { _ in
      .withoutUsers { _ in .setDisabled }
    },
    Workload("set-custom-claims", "SetCustomClaims changes the account's claims (admin key)") {
      .exclusive(try $0.usersInSession()) { user, generator in
        .setCustomClaims(user, mark: generator.next())
      }
    },
    Workload("revoke-sessions", "RevokeSessions ends a session (admin key)") { _ in
      .withoutUsers { _ in .revokeSessions }
    },
    Workload("delete-account", "DeleteAccount of an anonymous user ends the user's session (admin key)") { _ in
      .withoutUsers { _ in .deleteAccount }
    },
    Workload("remove-factors", "ImportAccounts with a second factor, then RemoveSecondFactors (admin key)") {
      preparation in
      .withoutUsers {
        var account = preparation.importedAccount($0.next())
        // A phone number that has no owner and never receives messages.
        account.phoneFactors = [ImportedPhoneFactor(phoneNumber: "+441632960961")]
        return .removeFactors(of: account)
      }
    },
    Workload("unlink-provider", "ImportAccounts with one linked provider, then UnlinkProvider (admin key)") {
      preparation in
      .withoutUsers {
        var account = preparation.importedAccount($0.next())
        // The server need not have the provider configured.
        account.providers = [LinkedProvider(providerID: "google.com", subject: "subject-\(account.accountID)")]
        return .unlinkProvider(of: account)
      }
    },
    Workload("provision-account", "CreateAccount, then UpdateAccount of its name (admin key)") { preparation in
      .withoutUsers { .provisionAccount(email: preparation.email($0.next())) }
    },
    Workload("search", "Search for a part of an account's email address finds it (admin key, store.search)") {
      .shared(try $0.usersWithPasswords()) { .search(for: $0) }
    },
    Workload("list-events", "ListEvents of an account includes its creation (admin key)") {
      .shared(try $0.usersWithPasswords()) { .listEvents($0) }
    },
    Workload("diagnose", "DiagnoseSignIn of an account's email address finds the account (admin key)") {
      .shared(try $0.usersWithPasswords()) { .diagnose($0) }
    },
    Workload("unlock", "Unlock of an account without blocks ends none (admin key)") {
      .shared(try $0.usersWithPasswords()) { .unlock($0) }
    },
    Workload("account-sessions", "AdminService.ListSessions of an account in session returns a session (admin key)") {
      .shared(try $0.usersInSession()) { .accountSessions($0) }
    },
    Workload("list-messages", "ListMessages of an account (admin key)") {
      .shared(try $0.usersWithPasswords()) { .listMessages($0) }
    },
    Workload("custom-token", "CreateCustomToken for an account (admin key)") {
      .shared(try $0.usersWithPasswords()) { .customToken($0) }
    },
    Workload("import-accounts", "ImportAccounts with a batch of new accounts (admin key)") { preparation in
      .withoutUsers { generator in
        .importAccounts((0..<20).map { _ in preparation.importedAccount(generator.next()) })
      }
    },
    Workload("export-accounts", "ExportAccounts to its end (admin key)") {
      let users = try $0.usersInSession()
      return .shared(users) { _ in .exportAccounts(accountsMin: users.count) }
    },
    Workload("watch-events", "EventService.Watch reports the sign-in of a new user (admin key, right to events)") { _ in
      .withoutUsers { _ in .watchEvents }
    },
    Workload("conflict", "an account-exists conflict, completed with the password, then Unlink (tokens)") {
      .exclusive(try $0.usersInConflict("conflict", atLeast: $0.target.placeCount)) { user, _ in .conflict(user) }
    },
    Workload("handshake", "a connection with a full TLS handshake and one Health.Check") { preparation in
      let load = preparation.load
      return .withoutUsers { _ in .handshake(calls: !load.withoutCall, resumes: load.resume) }
    },
  ]
}

/// Returns an invalid code with the form of a code in a link.
private func invalidCode() -> String { Base64URL.encode(Random.bytes(32)) }
