/// What an iteration does: one call, or the calls that only make sense together.
enum WorkloadName: String, CaseIterable, Sendable {
  case health
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
  case verify
  case signingKeys = "signing-keys"
  case signOut = "sign-out"
  case listProviders = "list-providers"
  case startFlow = "start-flow"
  case lookup
  case customToken = "custom-token"
  case conflict
  case handshake

  var meaning: String {
    switch self {
    case .health: "Health.Check answers SERVING"
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
    case .verify: "VerifyIdToken of an open session is active and names its account"
    case .signingKeys: "GetSigningKeys holds a key"
    case .signOut: "SignIn of somebody anonymous, SignOut, and VerifyIdToken says that it is over"
    case .listProviders: "ListProviders names the provider of start-flow"
    case .startFlow: "StartFlow gives the address of a provider (--flow-provider, --redirect-uri)"
    case .lookup: "Lookup by address finds the account (admin key)"
    case .customToken: "CreateCustomToken for an account (admin key)"
    case .conflict: "an account-exists conflict, completed by password, and what was linked unlinked (tokens)"
    case .handshake: "a connection opened by a full TLS handshake, one Health.Check on it, and closed"
    }
  }
}
