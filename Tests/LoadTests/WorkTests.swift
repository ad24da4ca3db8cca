import API
import Testing

@testable import latchkey_load

private let fetchPending = ["AuthService/SignIn", "AuthService/FetchProviders"]

private func exists(_ email: String = login.email, _ pendingToken: String = "pending") -> SignInResponse {
  SignInResponse(outcome: .accountExists(AccountExists(email: email, pendingToken: pendingToken)))
}

private func pending(_ providerID: String = "oidc.corp") -> FetchProvidersResponse {
  FetchProvidersResponse(pending: PendingCredential(providerID: providerID, email: login.email))
}

private func link(_ providers: [String]) -> LinkResponse {
  LinkResponse(outcome: .session(session(providers: providers)))
}

private func unlink(_ providers: [String] = []) -> UnlinkResponse {
  UnlinkResponse(session: session(providers: providers))
}

@Test func `a conflict is completed, and undone`() {
  let answers: [Any] = [exists(), pending(), signedIn(providers: ["password", "oidc.corp"]), unlink()]
  let (calls, end) = play(.conflict(user()), answers)
  #expect(calls == fetchPending + ["AuthService/SignIn", "AuthService/Unlink"])
  #expect(end == "done")
  let requests = requests(.conflict(user()), answers)
  #expect(requests[0] as? SignInRequest == SignInRequest(credential: .provider(token)))
  #expect(requests[1] as? FetchProvidersRequest == FetchProvidersRequest(subject: .pendingToken("pending")))
  #expect(requests[2] as? SignInRequest == SignInRequest(credential: .password(login), pendingToken: "pending"))
  #expect(requests[3] as? UnlinkRequest == UnlinkRequest(idToken: "i", providerID: "oidc.corp"))
}

@Test func `each step of a conflict is checked`() {
  let factor = SignInResponse(outcome: .secondFactorRequired(SecondFactorRequired()))
  let linked = signedIn(providers: ["oidc.corp"])
  expectWrong(
    .conflict(user()),
    [
      [signedIn()], [SignInResponse()], [factor], [exists("b@example.com")], [exists(login.email, "")],
      [exists(), FetchProvidersResponse()], [exists(), pending("google.com")],
      [exists(), pending(), signedIn("other", providers: ["oidc.corp"])],
      [exists(), pending(), signedIn(providers: ["password"])], [exists(), pending(), exists()],
      [exists(), pending(), factor], [exists(), pending(), linked, unlink(["oidc.corp"])],
      [exists(), pending(), linked, UnlinkResponse()],
    ])
  #expect(play(.conflict(user()), [exists(), pending(), factor]).end == "the outcome second_factor_required")
  #expect(play(.conflict(user()), [SignInResponse()]).end == "the outcome none")
}

@Test func `linking signs in first if the login is too old, and not if it is fresh`() {
  let stale = user()
  let ended: [Any] = [signedIn(), link(["oidc.corp"]), unlink()]
  let calls = ["AuthService/SignIn", "AuthService/Link", "AuthService/Unlink"]
  #expect(play(.linkUnlink(stale, atNanos: 4), ended, atNanos: 5) == (calls, "done"))
  #expect(stale.signedInNanos == 5)
  let recent = Array(ended.dropFirst())
  #expect(play(.linkUnlink(stale, atNanos: 6), recent, atNanos: 6).calls == Array(calls.dropFirst()))
  let tooLate: Int64 = 5 + 240_000_000_000
  #expect(play(.linkUnlink(stale, atNanos: tooLate - 1), recent).calls == Array(calls.dropFirst()))
  #expect(play(.linkUnlink(stale, atNanos: tooLate), ended, atNanos: tooLate).calls == calls)
}

@Test func `the account is checked after linking and unlinking`() {
  let inUse = LinkResponse(outcome: .credentialInUse(CredentialInUse()))
  for answers in [[link([])], [link(["oidc.corp"]), unlink(["oidc.corp"])]] as [[Any]] {
    #expect(play(.linkUnlink(userInSession(), atNanos: 1), answers).end.contains("linked"))
  }
  #expect(play(.linkUnlink(userInSession(), atNanos: 1), [inUse]).end == "the outcome credential_in_use")
  expectWrong(.linkUnlink(user()), [[signedIn("other")], [SignInResponse()]])
}

@Test func `a pending token is replaced before it expires`() {
  let user = user()
  #expect(play(.fetchPending(user, atNanos: 1), [exists(), pending()], atNanos: 1) == (fetchPending, "done"))
  let calls = Array(fetchPending.dropFirst())
  #expect(play(.fetchPending(user, atNanos: 480_000_000_000), [pending()]) == (calls, "done"))
  #expect(play(.fetchPending(user, atNanos: 480_000_000_001), [exists(), pending()]).calls == fetchPending)
  expectWrong(.fetchPending(user, atNanos: 2), [[pending("google.com")], [FetchProvidersResponse()]])
}

@Test func `created accounts are deleted`() {
  let created = CreateResponse(outcome: .session(session(isNew: true)))
  let calls = ["AccountService/Create", "AccountService/Delete"]
  #expect(play(.createDelete(login), [created, DeleteResponse()]) == (calls, "done"))
  let other = PasswordCredential(email: "b@example.com", password: "")
  #expect(play(.createDelete(other), [created]).end.contains("another address"))
  let sent = CreateResponse(outcome: .verificationSent(VerificationSent()))
  #expect(play(.createDelete(login), [sent]).end == "the outcome verification_sent")
}

@Test func `an account is made once, and opened with its password later`() {
  let user = LoadUser(login: login)
  let created = CreateResponse(outcome: .session(session(isNew: true)))
  #expect(play(.makeAccount(user), [created], atNanos: 3) == (["AccountService/Create"], "done"))
  #expect(user.accountID == "id" && user.idToken == "i" && user.signedInNanos == 3)
  #expect(play(.makeAccount(user), [signedIn()]) == (["AuthService/SignIn"], "done"))
  expectWrong(.makeAccount(user), [[signedIn("other")], [SignInResponse()]])
}

@Test func `a refresh must bring a new token of the same account, which the next one presents`() {
  let user = user()
  var old = session()
  old.refreshToken = "old"
  user.keep(old)
  let refreshed = RefreshResponse(session: session())
  #expect(requests(.refresh(user), [])[0] as? RefreshRequest == RefreshRequest(refreshToken: "old"))
  #expect(play(.refresh(user), [refreshed]).end == "done")
  #expect(user.refreshToken == "r")
  #expect(play(.refresh(user), [refreshed]).end.contains("as before"))
  #expect(play(.refresh(user), [RefreshResponse(session: session("other"))]).end.contains("another account"))
  expectWrong(.refresh(user), [[RefreshResponse()]])
}

@Test func `a session without one of its tokens or its account is no right answer`() {
  let parts: [WritableKeyPath<Session, String>] = [\.idToken, \.refreshToken]
  for part in parts {
    var session = session()
    session[keyPath: part] = ""
    expectWrong(.openSession(user()), [[SignInResponse(outcome: .session(session))]])
  }
  expectWrong(.openSession(user()), [[signedIn("")], [SignInResponse()]])
  let user = LoadUser()
  #expect(play(.openSession(user), [signedIn("new")]).end == "done")
  #expect(user.accountID == "new" && user.isSignedIn)
}

@Test func `single calls are right only with their expected values`() {
  let user = user()
  let account = Account(accountID: "id")
  let right: [(Step, Any, [Any])] = [
    (.health, HealthCheckResponse(status: .serving), [HealthCheckResponse(status: .notServing), HealthCheckResponse()]),
    (.signingKeys, GetSigningKeysResponse(jwksJSON: #"{"keys":[{"kty":"EC"}]}"#),
      [GetSigningKeysResponse(jwksJSON: #"{"keys":[]}"#), GetSigningKeysResponse()]),
    (.listProviders(with: "oidc.corp"), ListProvidersResponse(providerIDs: ["google.com", "oidc.corp"]),
      [ListProvidersResponse(providerIDs: ["google.com"])]),
    (.startFlow("oidc.corp", ""), StartFlowResponse(flowID: "f", authorizationURL: "https://idp.example/?state=s"),
      [
        StartFlowResponse(authorizationURL: "https://"), StartFlowResponse(flowID: "f", authorizationURL: "https://f/"),
        StartFlowResponse(flowID: "f", authorizationURL: "http://idp.example/"),
      ]),
    (.fetch(email: "", method: "password"), FetchProvidersResponse(registered: true, signInMethods: ["password"]),
      [FetchProvidersResponse(), FetchProvidersResponse(registered: true, signInMethods: ["phone"])]),
    (.fetch(email: "", method: nil), FetchProvidersResponse(registered: true, signInMethods: ["phone"]),
      [FetchProvidersResponse(registered: true)]),
    (.signIn(.anonymous, as: user), signedIn(), [signedIn(isNew: true), signedIn("other"), SignInResponse()]),
    (.reauthenticate(user), ReauthenticateResponse(outcome: .session(session())),
      [ReauthenticateResponse(outcome: .session(session("other"))), ReauthenticateResponse()]),
    (.get(user), GetResponse(account: account), [GetResponse(account: Account(accountID: "other")), GetResponse()]),
    (.lookup(user), LookupResponse(account: account),
      [LookupResponse(account: Account(accountID: "other")), LookupResponse()]),
    (.verify(user), VerifyIdTokenResponse(active: true, accountID: "id"),
      [VerifyIdTokenResponse(inactiveReason: .tokenExpired), VerifyIdTokenResponse(active: true, accountID: "other")]),
    (.customToken(user), CreateCustomTokenResponse(customToken: "t"), [CreateCustomTokenResponse()]),
  ]
  for (step, good, bad) in right {
    #expect(play(step, [good]).end == "done")
    expectWrong(step, bad.map { [$0] })
  }
  let expired = VerifyIdTokenResponse(inactiveReason: .tokenExpired)
  #expect(play(.verify(user), [expired]).end == "a valid token is reported as TOKEN_EXPIRED")
  var anonymous = session(isNew: true)
  anonymous.account?.anonymous = true
  #expect(play(.signInAnonymous, [SignInResponse(outcome: .session(anonymous))]).end == "done")
  #expect(play(.signInAnonymous, [signedIn()]).end.contains("not new"))
  #expect(play(.signInAnonymous, [signedIn(isNew: true)]).end.contains("not new and anonymous"))
}

@Test func `a resumed handshake is wrong unless resumption was requested`() {
  #expect(play(.handshake(calls: false, resumes: false), [false]).end == "done")
  #expect(play(.handshake(calls: false, resumes: false), [true]).end.contains("earlier session"))
  let whole: [Any] = [true, HealthCheckResponse(status: .serving)]
  #expect(play(.handshake(calls: true, resumes: true), whole) == (["TLS handshake", "Health/Check"], "done"))
}

@Test func `a user whose calls change something serves one iteration at a time, and is dropped if it fails`()
  throws
{
  let iterations = Iterations.exclusive([user(), user()]) { _, _ in .health }
  let mix = Mix([Mix.Part(workload: "refresh", weight: 1, iterations: iterations)], seed: 1)
  let taken = try [mix.next(), mix.next()].compactMap(\.self)
  #expect(taken.count == 2 && taken[0].user !== taken[1].user)
  #expect { try mix.next() } throws: { "\($0)".contains("no users are left for refresh") }
  mix.ended(taken[0], failed: false)
  mix.ended(taken[1], failed: true)
  #expect(try mix.next()?.user === taken[0].user)
  #expect(throws: RunError.self) { try mix.next() }
}

@Test func `users whose calls change something are taken in turn`() {
  let people = (0..<3).map { _ in user() }
  let pool = Pool(people, isExclusive: true)
  var generator = SeededGenerator(seed: 1)
  for number in 0..<9 {
    let taken = pool.take(&generator)
    #expect(taken === people[number % 3])
    if let taken { pool.giveBack(taken) }
  }
}

@Test func `users who are only read are never used up`() {
  let pool = Pool([user()], isExclusive: false)
  var generator = SeededGenerator(seed: 1)
  #expect(pool.take(&generator) === pool.take(&generator))
}
