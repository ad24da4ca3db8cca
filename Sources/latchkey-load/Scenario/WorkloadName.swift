/// A kind of iteration: one call, or several calls that depend on each other.
enum WorkloadName: String, CaseIterable, Sendable {
  case health
  case watchHealth = "watch-health"
  case fetch
  case fetchPending = "fetch-pending"
  case signInPassword = "sign-in-password"
  case signInAnonymous = "sign-in-anonymous"
  case signInIDToken = "sign-in-id-token"
  case signInCustomToken = "sign-in-custom-token"
  case refresh
  case linkUnlink = "link-unlink"
  case reauthenticate
  case createDelete = "create-delete"
  case get
  case update
  case merge
  case verify
  case signingKeys = "signing-keys"
  case signOut = "sign-out"
  case revokeAll = "revoke-all"
  case listSessions = "list-sessions"
  case listProviders = "list-providers"
  case startFlow = "start-flow"
  case secondFactor = "second-factor"
  case sendPhoneCode = "send-phone-code"
  case sendEmailLink = "send-email-link"
  case sendEmailVerification = "send-email-verification"
  case sendPasswordReset = "send-password-reset"
  case sendEmailChange = "send-email-change"
  case checkCode = "check-code"
  case confirmEmail = "confirm-email"
  case resetPassword = "reset-password"
  case lookup
  case listAccounts = "list-accounts"
  case setDisabled = "set-disabled"
  case setCustomClaims = "set-custom-claims"
  case revokeSessions = "revoke-sessions"
  case deleteAccount = "delete-account"
  case removeFactors = "remove-factors"
  case unlinkProvider = "unlink-provider"
  case customToken = "custom-token"
  case importAccounts = "import-accounts"
  case exportAccounts = "export-accounts"
  case watchEvents = "watch-events"
  case conflict
  case handshake

  /// Calls without a workload, with the reason.
  static let leftOut = [
    (
      call: "ServerReflection/ServerReflectionInfo",
      why: "tools call it once, before the first call, and most servers disable it"
    ),
    (call: "AdminService/Backup", why: "it copies the whole store, one call at a time, about once a day"),
    (call: "SessionService/EndSession", why: "users call it rarely, and it writes what SignOut writes"),
  ]

  var meaning: String {
    switch self {
    case .health: "Health.Check returns SERVING"
    case .watchHealth: "Health.Watch sends SERVING immediately"
    case .fetch: "FetchProviders with a random account's email address"
    case .fetchPending: "FetchProviders with a pending token returns the pending credential (tokens)"
    case .signInPassword: "SignIn with a password opens the same account as before"
    case .signInAnonymous: "SignIn of a new anonymous user"
    case .signInIDToken: "SignIn with a provider's ID token opens the same account each time (tokens)"
    case .signInCustomToken: "SignIn with a custom token opens the account that it names (admin key)"
    case .refresh: "Refresh of each caller's own session returns new tokens"
    case .linkUnlink: "Link with a provider's ID token in a session of the account, then Unlink (tokens)"
    case .reauthenticate: "Reauthenticate with the password of the session's account"
    case .createDelete: "Create, then Delete"
    case .get: "Get returns the session's account"
    case .update: "Update changes the display name"
    case .merge: "SignIn of an anonymous user, then Merge into an account ends that user's session (admin key)"
    case .verify: "VerifyIdToken of an open session returns active and its account"
    case .signingKeys: "GetSigningKeys returns a key"
    case .signOut: "SignIn of an anonymous user, SignOut, then VerifyIdToken returns inactive"
    case .revokeAll: "the same with RevokeAll"
    case .listSessions: "ListSessions marks the caller's session as current"
    case .listProviders: "ListProviders lists the provider of start-flow"
    case .startFlow: "StartFlow returns an authorization URL (--flow-provider, --redirect-uri)"
    case .secondFactor: "TOTP enrolment, a SignIn that requires the factor, then Withdraw (admin key)"
    case .sendPhoneCode: "SendPhoneCode to a new phone number"
    case .sendEmailLink: "SendEmailLink to a new email address (--redirect-uri)"
    case .sendEmailVerification: "SendEmailVerification in a session of an account with an email address"
    case .sendPasswordReset: "SendPasswordReset to an account's email address"
    case .sendEmailChange: "SendEmailChange to a new email address, in a session of an account"
    case .checkCode: "CheckCode rejects an invalid code"
    case .confirmEmail: "ConfirmEmail rejects an invalid code"
    case .resetPassword: "ResetPassword rejects an invalid code"
    case .lookup: "Lookup by email address finds the account (admin key)"
    case .listAccounts: "List returns two pages without common accounts (admin key)"
    case .setDisabled: "SetDisabled ends a session, then enables the account again (admin key)"
    case .setCustomClaims: "SetCustomClaims changes the account's claims (admin key)"
    case .revokeSessions: "RevokeSessions ends a session (admin key)"
    case .deleteAccount: "DeleteAccount of an anonymous user ends the user's session (admin key)"
    case .removeFactors: "ImportAccounts with a second factor, then RemoveSecondFactors (admin key)"
    case .unlinkProvider: "ImportAccounts with one linked provider, then UnlinkProvider (admin key)"
    case .customToken: "CreateCustomToken for an account (admin key)"
    case .importAccounts: "ImportAccounts with a batch of new accounts (admin key)"
    case .exportAccounts: "ExportAccounts to its end (admin key)"
    case .watchEvents: "EventService.Watch reports the sign-in of a new user (admin key, right to events)"
    case .conflict: "an account-exists conflict, completed with the password, then Unlink (tokens)"
    case .handshake: "a connection with a full TLS handshake and one Health.Check"
    }
  }
}
