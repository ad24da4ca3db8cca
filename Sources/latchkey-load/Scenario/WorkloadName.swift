/// What an iteration does: one call, or the calls that only make sense together.
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

  /// Calls that are no workload, with the reason.
  static let leftOut = [
    (
      call: "ServerReflection/ServerReflectionInfo",
      why: "a tool asks it once, before the first call, and servers have it off"
    ),
    (call: "AdminService/Backup", why: "it copies the whole store, one at a time, and a timer asks it once a day"),
  ]

  var meaning: String {
    switch self {
    case .health: "Health.Check answers SERVING"
    case .watchHealth: "Health.Watch tells SERVING at once"
    case .fetch: "FetchProviders of an address drawn from all accounts"
    case .fetchPending: "FetchProviders of a held credential, which must name what is held (tokens)"
    case .signInPassword: "SignIn by password opens the same account as before"
    case .signInAnonymous: "SignIn of somebody new, who is anonymous"
    case .signInIDToken: "SignIn by a provider's ID token opens the same account each time (tokens)"
    case .signInCustomToken: "SignIn by a custom token opens the account it names (admin key)"
    case .refresh: "Refresh; each caller owns a session, and every token is new"
    case .linkUnlink: "Link of a provider's ID token, then Unlink of it, in a session of the account (tokens)"
    case .reauthenticate: "Reauthenticate by password of the account's own session"
    case .createDelete: "Create, then Delete"
    case .get: "Get of the session's own account"
    case .update: "Update of the name, which the session has from then on"
    case .merge: "SignIn of somebody anonymous, Merge into an account, and the other session is over (admin key)"
    case .verify: "VerifyIdToken of an open session is active and names its account"
    case .signingKeys: "GetSigningKeys holds a key"
    case .signOut: "SignIn of somebody anonymous, SignOut, and VerifyIdToken says that it is over"
    case .revokeAll: "the same by RevokeAll"
    case .listSessions: "ListSessions names the session that asks"
    case .listProviders: "ListProviders names the provider of start-flow"
    case .startFlow: "StartFlow gives the address of a provider (--flow-provider, --redirect-uri)"
    case .secondFactor: "an authenticator program enrolled, asked for by SignIn, shown and withdrawn (admin key)"
    case .sendPhoneCode: "SendPhoneCode to a number that nobody was sent one to"
    case .sendEmailLink: "SendEmailLink to an address that is new (--redirect-uri)"
    case .sendEmailVerification: "SendEmailVerification in a session of an account with an address"
    case .sendPasswordReset: "SendPasswordReset to the address of an account"
    case .sendEmailChange: "SendEmailChange to an address that is new, in a session of an account"
    case .checkCode: "CheckCode refuses a code that nobody was sent"
    case .confirmEmail: "ConfirmEmail refuses one"
    case .resetPassword: "ResetPassword refuses one"
    case .lookup: "Lookup by address finds the account (admin key)"
    case .listAccounts: "List of the first two pages, no account on both (admin key)"
    case .setDisabled: "SetDisabled ends a session, and opens the account again (admin key)"
    case .setCustomClaims: "SetCustomClaims, which the account has from then on (admin key)"
    case .revokeSessions: "RevokeSessions ends a session (admin key)"
    case .deleteAccount: "DeleteAccount of somebody anonymous, whose session is over (admin key)"
    case .removeFactors: "RemoveSecondFactors of an account that was imported with one (admin key)"
    case .unlinkProvider: "UnlinkProvider of the one way into an account that was imported (admin key)"
    case .customToken: "CreateCustomToken for an account (admin key)"
    case .importAccounts: "ImportAccounts of a batch of new accounts (admin key)"
    case .exportAccounts: "ExportAccounts to its end (admin key)"
    case .watchEvents: "EventService.Watch tells that somebody new has signed in (admin key, right to events)"
    case .conflict: "an account-exists conflict, completed by password, and what was linked unlinked (tokens)"
    case .handshake: "a connection opened by a full TLS handshake, one Health.Check on it, and closed"
    }
  }
}
