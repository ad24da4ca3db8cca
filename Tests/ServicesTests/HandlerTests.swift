import Callers
import Crypto
import Identity
import Store
import TestSupport
import Testing
import API

@testable import Services

private func served(_ name: String, _ world: World = World(facts: .adaSignedIn)) throws -> Method {
  try method("/latchkey.v1.\(name)", of: methods(world))
}

@Test func `the methods match the schema, and require the right`() {
  let paths = methods().map(\.path)
  let services = Set(paths.map { $0.split(separator: "/")[0] })
  #expect(paths.sorted() == DescriptorSet.methods.filter { services.contains($0.split(separator: "/")[0]) }.sorted())
  for method in methods() {
    let (bytesMax, millisMax): (Int?, Int64) = switch method.path.split(separator: "/").last {
    case "ImportAccounts": (524_288, 3_600_000)
    case "ExportAccounts", "ExportAccount", "Backup": (nil, 3_600_000)
    case "DeleteAccounts", "SetAccountsDisabled", "SetTransferSubjects": (524_288, 120_000)
    case "GetMasterKeyStatus": (nil, 600_000)
    default: (nil, 30_000)
    }
    #expect(method.access == .right && method.timeLimitMillis == millisMax && method.messageBytesMax == bytesMax)
  }
}

@Test func `exactly the methods that change nothing are marked as look-ups`() throws {
  let lookUps = methods().filter(\.isLookUp).map { $0.path.split(separator: "/")[1] }
  #expect(
    lookUps == [
      "FetchProviders", "Get", "Lookup", "List", "GetMasterKeyStatus", "ListSigningKeys", "Search", "ListEvents",
      "DiagnoseSignIn", "ListSessions", "ListMessages", "ListSessions", "VerifyIdToken", "VerifySessionCookie",
      "GetSigningKeys", "ListPasskeys", "CheckCode",
    ])
}

@Test func `the facts of a call come from the caller, the client and the call`() throws {
  let shared = World().shared
  let context = try context("/latchkey.v1.AuthService/SignIn", mayFetchByEmail: true)
  let client = ClientContext(ipAddress: "192.0.2.1", userAgent: "agent", deviceID: "device")
  let facts = try shared.facts(
    context, message(API.SignInRequest()), client: client, binding: "sixteen bytes or",
    idempotencyKey: IdempotencyKey("key", of: API.SignInRequest.self))
  #expect(facts.caller == CallerName("web") && facts.mayFetchByEmail && facts.callerIdentified)
  #expect(facts.audiences == ["app", "other"] && facts.audience == "app")
  #expect(facts.ipAddress == "192.0.2.1" && facts.userAgent == "agent" && facts.deviceID == "device")
  #expect(facts.binding == Digest(sha256(Array("sixteen bytes or".utf8))))
  #expect(facts.commitDecision === context.commitDecision)
}

@Test func `an idempotency key is claimed for its caller, method and request, and nothing is claimed without one`()
  throws
{
  let shared = World().shared
  func claim(_ key: String?, _ path: String = "/a/B", _ request: String = "x") throws -> IdempotencyClaim? {
    try shared.facts(
      context(path), message(DeleteRequest(idToken: request)),
      idempotencyKey: key.map { IdempotencyKey($0, of: DeleteRequest.self) }
    ).idempotency
  }
  let first = try #require(try claim("key"))
  #expect(try claim("key") == first)
  #expect(try claim("key", "/a/C")?.key != first.key)
  #expect(try claim("other")?.key != first.key && claim("other")?.request == first.request)
  #expect(try claim("key", "/a/B", "y")?.key == first.key && claim("key", "/a/B", "y")?.request != first.request)
  #expect(try claim("") == nil && claim(nil) == nil)
}

@Test func `the key of a guest belongs to its browser and device, and without either is rejected by name`() throws {
  let shared = World().shared
  func key(_ binding: String = "", _ deviceID: String = "", isOfGuest: Bool = true) throws -> Digest? {
    let client = ClientContext(ipAddress: "192.0.2.1", deviceID: deviceID)
    return try shared.facts(
      context(), message(DeleteRequest(idToken: "x")), client: client, binding: binding,
      idempotencyKey: IdempotencyKey("key", of: DeleteRequest.self, isOfGuest: isOfGuest)
    ).idempotency?.key
  }
  let (one, two) = ("browser session one", "browser session two")
  let names = [(one, ""), (two, ""), ("", "device one"), ("", "device two"), (one, "device one")]
  let keys = try names.map { try key($0.0, $0.1) }
  let repeated = try names.map { try key($0.0, $0.1) }
  #expect(Set(keys).count == keys.count && keys == repeated)
  let failure = #expect(throws: Failure.self) { try key() }
  #expect(failure?.reason == .invalidField && failure?.field == "idempotency_key")
  #expect(try key(isOfGuest: false) == (try key(one, "device one", isOfGuest: false)))
}

@Test func `check 34: two requests are the same if they differ only in the client fields`() throws {
  let shared = World().shared
  func digest(_ change: (inout API.SignInRequest) -> Void = { _ in }) throws -> Digest? {
    let password = PasswordCredential(email: "ada@example.com", password: "correct horse")
    var request = API.SignInRequest(
      credential: API.Credential(kind: .password(password)), idempotencyKey: "key", binding: "sixteen bytes or")
    change(&request)
    return try shared.facts(
      context(), message(request), idempotencyKey: IdempotencyKey("key", of: API.SignInRequest.self)
    ).idempotency?.request
  }
  let first = try #require(try digest())
  let clients = [
    ClientContext(), ClientContext(ipAddress: "192.0.2.1"), ClientContext(ipAddress: "2001:db8::1"),
    ClientContext(userAgent: "agent"), ClientContext(ipAddress: "192.0.2.1", userAgent: "agent", deviceID: "device"),
  ]
  for client in clients {
    let same = try digest { $0.client = client }
    #expect(same == first)
  }
  let others = try [
    digest { $0.credential = API.Credential(kind: .password(.init(email: "ada@example.com", password: "wrong"))) },
    digest { $0.pendingToken = "handle" }, digest { $0.existingOnly = true }, digest { $0.claimAddress = true },
    digest { $0.binding = "seventeen bytes or" },
  ]
  #expect(Set(others + [first]).count == others.count + 1)
}

@Test func `a look-up is answered immediately if the store can, otherwise by a task, with the same answer`()
  async throws
{
  let request = GetRequest(idToken: "good")
  for answersNow in [true, false] {
    let get = try served("AccountService/Get", World(facts: .adaSignedIn, answersNow: answersNow))
    if case .answer = try begin(get, request) { #expect(answersNow) } else { #expect(!answersNow) }
    let account = try await answer(get, request, as: GetResponse.self).account
    #expect(account == API.Account(ada()))
  }
}

@Test func `VerifyIdToken answers about bad tokens instead of failing`() async throws {
  let verify = try served("SessionService/VerifyIdToken")
  let good = try await answer(verify, VerifyIdTokenRequest(idToken: "good"), as: VerifyIdTokenResponse.self)
  #expect(
    good == VerifyIdTokenResponse(active: true, accountID: "account-ada", claimsJSON: "{\"sub\":\"account-ada\"}"))
  let bad = try await answer(verify, VerifyIdTokenRequest(idToken: "bad"), as: VerifyIdTokenResponse.self)
  #expect(bad == VerifyIdTokenResponse(inactiveReason: .invalidIDToken))
}

@Test func `RevokeAll returns the number of open sessions`() async throws {
  var facts = Facts.adaSignedIn
  facts.openSessionCount = 3
  let revokeAll = try served("SessionService/RevokeAll", World(facts: facts))
  let closed = try await answer(revokeAll, RevokeAllRequest(idToken: "good"), as: RevokeAllResponse.self)
  #expect(closed == RevokeAllResponse(closed: 3))
  #expect(failure { try begin(revokeAll, RevokeAllRequest()) }?.field == "id_token")
}

@Test func `CreateSessionCookie takes 5 minutes to 14 days`() async throws {
  let create = try served("SessionService/CreateSessionCookie")
  for seconds in [0, -1, 299, 1_209_601] as [Int32] {
    let request = CreateSessionCookieRequest(idToken: "good", validForSeconds: seconds)
    #expect(failure { try begin(create, request) }?.field == "valid_for_seconds")
  }
  for seconds in [300, 1_209_600] as [Int32] {
    _ = try begin(create, CreateSessionCookieRequest(idToken: "good", validForSeconds: seconds))
  }
}

@Test func `EndSession requires a session id, and without an ID token the right to revoke sessions`() async throws {
  var facts = Facts.adaSignedIn
  facts.otherSession = facts.session
  let end = try served("SessionService/EndSession", World(facts: facts))
  let ended = EndSessionResponse(ended: true)
  let own = EndSessionRequest(idToken: "good", sessionID: "session-1")
  #expect(try await answer(end, own, as: EndSessionResponse.self) == ended)
  #expect(failure { try begin(end, EndSessionRequest(idToken: "good")) }?.field == "session_id")
  let any = EndSessionRequest(sessionID: "session-1")
  #expect(try await answer(end, any, as: EndSessionResponse.self) == ended)
  guard case .unary(let start) = end.handler else { throw NotUnary() }
  for pattern in ["latchkey.v1.SessionService/*", "latchkey.v1.AdminService/Lookup"] {
    let settings = CallerSettings(name: "web", san: "web", methods: [pattern], audiences: ["app"])
    let unnamed = CallerSettings(name: "unidentified", methods: ["*"], audiences: ["app"])
    let table = CallerTable([settings], unidentified: unnamed, paths: [])
    for name in ["web", nil] {
      let context = CallContext(
        caller: try table.identify(certificateName: name, authorization: [], now: Timestamp(millis: 0)), path: end.path,
        peerAddress: "127.0.0.1", commitDecision: CommitDecision())
      #expect(failure { try start(message(any), context, roomyArena()) }?.reason == .callerNotAllowed)
    }
  }
}

@Test func `ListSessions returns the time, method and client of each session, and marks the caller's`()
  async throws
{
  var facts = Facts.adaSignedIn
  var other = try #require(facts.session)
  other.id = "session-2"
  other.lastUsedAt = other.createdAt.adding(millis: 5)
  other.ipAddress = "192.0.2.1"
  other.userAgent = "agent"
  other.deviceID = "device"
  facts.openSessions = [other, try #require(facts.session)]
  let list = try served("SessionService/ListSessions", World(facts: facts))
  let answer = try await answer(list, ListSessionsRequest(idToken: "good"), as: ListSessionsResponse.self)
  #expect(answer.sessions.map(\.sessionID) == ["session-2", "session-1"])
  #expect(answer.sessions.map(\.current) == [false, true])
  #expect(
    answer.sessions[0]
      == SessionInfo(
        sessionID: "session-2", signInProvider: other.signInProviderID, signedInAtMillis: other.authTime.millis,
        lastUsedAtMillis: other.lastUsedAt.millis,
        client: ClientContext(ipAddress: "192.0.2.1", userAgent: "agent", deviceID: "device"), current: false))
  #expect(failure { try begin(list, ListSessionsRequest()) }?.field == "id_token")
}

@Test func `SignOut accepts exactly one of its tokens`() async throws {
  let signOut = try served("SessionService/SignOut")
  #expect(failure { try begin(signOut, API.SignOutRequest()) }?.field == "id_token")
  let both = API.SignOutRequest(idToken: "a", refreshToken: "b")
  #expect(failure { try begin(signOut, both) }?.field == "refresh_token")
  #expect(try await answer(signOut, API.SignOutRequest(idToken: "good"), as: SignOutResponse.self) == .init())
}

@Test func `SignIn returns a session, with the provider's tokens for a provider credential`() async throws {
  var facts = Facts()
  facts.identityOwner = {
    var state = ada()
    state.factors = []
    return state
  }()
  let token = ProviderTokenCredential(providerID: "google.com", idToken: "id", accessToken: "access")
  let request = API.SignInRequest(credential: API.Credential(kind: .providerToken(token)))
  let response = try await answer(
    try served("AuthService/SignIn", World(facts: facts)), request, as: SignInResponse.self)
  guard case .session(let session)? = response.outcome else {
    Issue.record("no session: \(response)")
    return
  }
  #expect(session.account?.accountID == "account-ada" && session.idToken == "id-token")
  #expect(
    session.providerCredential
      == ProviderCredential(providerID: "google.com", accessToken: "access", idToken: "id"))
  #expect(session.additionalUserInfo?.username == "ada")
}

@Test func `a conflict and a second factor are outcomes of SignIn, not failures`() async throws {
  let token = ProviderTokenCredential(providerID: "google.com", idToken: "id")
  let request = API.SignInRequest(credential: API.Credential(kind: .providerToken(token)))
  var conflict = Facts()
  conflict.emailOwner = ada()
  conflict.emailOwner?.identities = []
  conflict.emailOwner?.factors = []
  let exists = try await answer(
    try served("AuthService/SignIn", World(facts: conflict)), request, as: SignInResponse.self)
  guard case .accountExists(let message)? = exists.outcome else {
    Issue.record("no conflict: \(exists)")
    return
  }
  #expect(message.email == "ada@gmail.com" && !message.pendingToken.isEmpty)
  #expect(message.providerCredential?.idToken == "id")
  var factor = Facts()
  factor.identityOwner = ada()
  let required = try await answer(
    try served("AuthService/SignIn", World(facts: factor)), request, as: SignInResponse.self)
  guard case .secondFactorRequired(let message)? = required.outcome else {
    Issue.record("no second factor: \(required)")
    return
  }
  #expect(message.hints.map(\.factorID) == ["factor-1"])
}

@Test func `Create returns a session of the new account`() async throws {
  let request = CreateRequest(email: "New@Example.com", password: "correct horse", displayName: "New")
  let response = try await answer(try served("AccountService/Create", World()), request, as: CreateResponse.self)
  guard case .session(let session)? = response.outcome else {
    Issue.record("no session: \(response)")
    return
  }
  #expect(session.isNewAccount && session.account?.email == "new@example.com" && session.account?.displayName == "New")
}

@Test func `Lookup requires a subject, names a bad one, and finds an account if it exists`() async throws {
  var facts = Facts()
  facts.emailOwner = ada()
  let lookup = try served("AdminService/Lookup", World(facts: facts))
  #expect(failure { try begin(lookup, LookupRequest()) }?.field == "subject")
  #expect(failure { try begin(lookup, LookupRequest(subject: .email("x"))) }?.field == "email")
  #expect(failure { try begin(lookup, LookupRequest(subject: .phoneNumber("x"))) }?.field == "phone_number")
  #expect(failure { try begin(lookup, LookupRequest(subject: .accountID("x"))) }?.reason == .accountNotFound)
  let found = try await answer(lookup, LookupRequest(subject: .email("Ada@Example.com")), as: LookupResponse.self)
  #expect(found.account?.accountID == "account-ada")
}

@Test func `FetchProviders requires a subject, and gives every address the same answer without the right`()
  async throws
{
  let fetch = try served("AuthService/FetchProviders", World(methods: ada().methods))
  #expect(failure { try begin(fetch, API.FetchProvidersRequest()) }?.field == "subject")
  let request = API.FetchProvidersRequest(subject: .email("ada@example.com"))
  for mayFetchByEmail in [true, false] {
    guard case .answer(let frame) = try begin(fetch, request, mayFetchByEmail: mayFetchByEmail) else {
      throw NotUnary()
    }
    let answer = try decoded(frame, as: API.FetchProvidersResponse.self)
    #expect(answer.registered == mayFetchByEmail && answer.signInMethods.isEmpty == !mayFetchByEmail)
  }
}

@Test func `the signing keys are the current ones, and a custom token has its expiry`() async throws {
  let keys = try await answer(
    try served("SessionService/GetSigningKeys"), GetSigningKeysRequest(), as: GetSigningKeysResponse.self)
  #expect(keys.jwksJSON == "{\"keys\":[]}")
  let custom = try await answer(
    try served("AdminService/CreateCustomToken"),
    API.CreateCustomTokenRequest(accountID: "account-ada", lifetimeMillis: 60_000), as: CreateCustomTokenResponse.self)
  #expect(custom == CreateCustomTokenResponse(customToken: "custom-token", expiresAtMillis: now.millis + 60_000))
}

@Test func `signing keys are listed, rotated for the caller, and revoked with the times of rejection`() async throws {
  let listed = try await answer(
    try served("AdminService/ListSigningKeys"), ListSigningKeysRequest(), as: ListSigningKeysResponse.self)
  let key = SigningKeyInfo(
    keyID: "signing", algorithm: "ES256", state: .signing, publishedAtMillis: now.millis - 3_600_000,
    activeFromMillis: now.millis - 3_600_000, ageMillis: 3_600_000)
  #expect(listed == ListSigningKeysResponse(keys: [key]))
  let rotated = try await answer(
    try served("AdminService/RotateSigningKeys"), RotateSigningKeysRequest(), as: RotateSigningKeysResponse.self)
  #expect(rotated == RotateSigningKeysResponse(keys: [key], newKeyID: "next"))
  let revoked = try await answer(
    try served("AdminService/RevokeSigningKey"), RevokeSigningKeyRequest(keyID: "signing"),
    as: RevokeSigningKeyResponse.self)
  #expect(
    revoked
      == RevokeSigningKeyResponse(
        keys: [key], serversRejectAtMillis: now.millis + 1, verifiersRejectAtMillis: now.millis + 2))
}

@Test(arguments: [(-1, false), (0, true), (1, true), (1_000, true), (1_001, false)])
func `a page has 1 to 1,000 accounts, and the default number if none is given`(
  size: Int32, isTaken: Bool
) async throws {
  var facts = Facts()
  facts.page = [ada()]
  let list = try served("AdminService/List", World(facts: facts))
  if isTaken {
    let page = try await answer(list, ListRequest(pageSize: size), as: ListResponse.self)
    #expect(page.accounts.map(\.accountID) == ["account-ada"] && page.nextPageToken.isEmpty)
  } else {
    #expect(failure { try begin(list, ListRequest(pageSize: size)) }?.field == "page_size")
  }
}

@Test func `an administrator's changes return the changed account`() async throws {
  var facts = Facts()
  facts.account = ada()
  facts.openSessionCount = 1
  let world = World(facts: facts)
  let disabled = try await answer(
    try served("AdminService/SetDisabled", world), SetDisabledRequest(accountID: "account-ada", disabled: true),
    as: SetDisabledResponse.self)
  #expect(disabled.account?.disabled == true)
  let claims = try await answer(
    try served("AdminService/SetCustomClaims", world),
    SetCustomClaimsRequest(accountID: "account-ada", claimsJSON: "{\"b\":2}"), as: SetCustomClaimsResponse.self)
  #expect(claims.account?.customClaimsJSON == "{\"b\":2}")
  let revoked = try await answer(
    try served("AdminService/RevokeSessions", world), RevokeSessionsRequest(accountID: "account-ada"),
    as: RevokeSessionsResponse.self)
  #expect(revoked.closed == 1)
  let removed = try await answer(
    try served("AdminService/RemoveSecondFactors", world), RemoveSecondFactorsRequest(accountID: "account-ada"),
    as: RemoveSecondFactorsResponse.self)
  #expect(removed.removed == 1 && removed.account?.accountID == "account-ada")
  #expect(removed.account?.secondFactors == [])
  let unlinked = try await answer(
    try served("AdminService/UnlinkProvider", world),
    UnlinkProviderRequest(accountID: "account-ada", providerID: "google.com"), as: UnlinkProviderResponse.self)
  #expect(unlinked.account?.providers.map(\.providerID) == ["password", "phone"])
}

@Test func `an administrator's deletion returns an empty answer, and an unknown account is not found`()
  async throws
{
  var facts = Facts()
  facts.account = ada()
  let request = DeleteAccountRequest(accountID: "account-ada")
  let deleted = try await answer(
    try served("AdminService/DeleteAccount", World(facts: facts)), request, as: DeleteAccountResponse.self)
  #expect(deleted == DeleteAccountResponse())
  await #expect(throws: Failure.self) {
    try await answer(try served("AdminService/DeleteAccount", World()), request, as: DeleteAccountResponse.self)
  }
}
