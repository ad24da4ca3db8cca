/// One call, as a workload asks for it.
enum Call {
  /// A connection, opened by a TLS handshake.
  case connect
  case health
  case fetch(email: String)
  case fetchHeld(pendingToken: String)
  case signIn(Credential, pendingToken: String = "")
  case link(idToken: String, ProviderToken)
  case unlink(idToken: String, providerID: String)
  case reauthenticate(idToken: String, Credential)
  case create(Login)
  case get(idToken: String)
  case delete(idToken: String)
  case refresh(refreshToken: String)
  case signOut(idToken: String)
  case verify(idToken: String)
  case signingKeys
  case listProviders
  case startFlow(FlowWish)
  case lookup(email: String)
  case createCustomToken(accountID: String)

  var method: Method {
    switch self {
    case .connect: .handshake
    case .health: .check
    case .fetch, .fetchHeld: .fetchProviders
    case .signIn: .signIn
    case .link: .link
    case .unlink: .unlink
    case .reauthenticate: .reauthenticate
    case .create: .create
    case .get: .get
    case .delete: .delete
    case .refresh: .refresh
    case .signOut: .signOut
    case .verify: .verifyIDToken
    case .signingKeys: .getSigningKeys
    case .listProviders: .listProviders
    case .startFlow: .startFlow
    case .lookup: .lookup
    case .createCustomToken: .createCustomToken
    }
  }
}

/// The calls of all services, and the handshake before them; the raw value is the row of the report.
enum Method: Int, CaseIterable {
  case handshake, check, signIn, link, unlink, reauthenticate, fetchProviders, create, get, delete, refresh, signOut
  case verifyIDToken, getSigningKeys, listProviders, startFlow, lookup, createCustomToken

  var name: String {
    switch self {
    case .handshake: "TLS handshake"
    case .check: "Health/Check"
    case .signIn: "AuthService/SignIn"
    case .link: "AuthService/Link"
    case .unlink: "AuthService/Unlink"
    case .reauthenticate: "AuthService/Reauthenticate"
    case .fetchProviders: "AuthService/FetchProviders"
    case .create: "AccountService/Create"
    case .get: "AccountService/Get"
    case .delete: "AccountService/Delete"
    case .refresh: "SessionService/Refresh"
    case .signOut: "SessionService/SignOut"
    case .verifyIDToken: "SessionService/VerifyIdToken"
    case .getSigningKeys: "SessionService/GetSigningKeys"
    case .listProviders: "ProviderFlowService/ListProviders"
    case .startFlow: "ProviderFlowService/StartFlow"
    case .lookup: "AdminService/Lookup"
    case .createCustomToken: "AdminService/CreateCustomToken"
    }
  }
}

struct Login: Equatable {
  var email: String
  var password: String
}

/// An ID token of a provider.
struct ProviderToken: Equatable {
  var providerID: String
  var idToken: String
}

/// A flow that is started and never ended.
struct FlowWish: Equatable {
  var providerID = "oidc.corp"
  var redirectURI = "http://localhost:3000/callback"
}

enum Credential {
  case password(Login)
  case provider(ProviderToken)
  case customToken(String)
  case anonymous
}

/// What an answer with status OK says, as far as anybody looks at it. Copied out, because the message is gone when the
/// completion returns.
enum Answer: Equatable {
  case connected(resumed: Bool)
  case serving(Bool)
  case ways(registered: Bool, methods: [String], held: Held?)
  case session(SessionFacts)
  case accountExists(email: String, pendingToken: String)
  case account(AccountFacts)
  case verdict(active: Bool, accountID: String, reason: String)
  case signingKeys(count: Int)
  case providers([String])
  case flow(id: String, url: String)
  case customToken(String)
  /// An answer without a field.
  case done
  /// An outcome that no workload waits for, by its name.
  case other(String)
}

struct Held: Equatable {
  var providerID: String
  var email: String
}

struct SessionFacts: Equatable {
  var idToken: String
  var refreshToken: String
  var account: AccountFacts
  var isNew: Bool
}

struct AccountFacts: Equatable {
  var id: String
  var email: String
  var isAnonymous: Bool
  var providerIDs: [String]
}
