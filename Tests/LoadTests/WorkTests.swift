import Testing

@testable import latchkey_load

@Test func `a conflict is walked to its end, and back`() {
  let held = Answer.ways(registered: false, methods: [], held: Held(providerID: "oidc.corp", email: login.email))
  let exists = Answer.accountExists(email: login.email, pendingToken: "pending")
  let (calls, end) = play(
    Conflict(user(), token), [exists, held, session(providers: ["password", "oidc.corp"]), session()])
  #expect(calls == [.signIn, .fetchProviders, .signIn, .unlink])
  #expect(end == "done")
}

@Test func `each step of a conflict is looked at`() {
  let held = Answer.ways(registered: false, methods: [], held: Held(providerID: "oidc.corp", email: login.email))
  let exists = Answer.accountExists(email: login.email, pendingToken: "pending")
  let wrong: [[Answer]] = [
    [session()], [.accountExists(email: "b@example.com", pendingToken: "pending")],
    [.accountExists(email: login.email, pendingToken: "")], [exists, .ways(registered: false, methods: [], held: nil)],
    [exists, .ways(registered: false, methods: [], held: Held(providerID: "google.com", email: login.email))],
    [exists, held, session("other", providers: ["oidc.corp"])], [exists, held, session(providers: ["password"])],
    [exists, held, session(providers: ["oidc.corp"]), session(providers: ["oidc.corp"])], [exists, exists],
    [exists, held, .other("second_factor_required")],
  ]
  for answers in wrong {
    let (calls, end) = play(Conflict(user(), token), answers)
    #expect(calls.count == answers.count && !["done", "under way"].contains(end), "\(answers)")
  }
}

@Test func `linking signs in first where the login is too old, and not where it is fresh`() {
  let stale = user()
  let ended = [session(), session(providers: ["oidc.corp"]), session()]
  #expect(play(LinkUnlink(stale, token), ended, atNanos: 5).calls == [.signIn, .link, .unlink])
  #expect(stale.signedInNanos == 5)
  #expect(play(LinkUnlink(stale, token), Array(ended.dropFirst()), atNanos: 6).calls == [.link, .unlink])
  #expect(play(LinkUnlink(stale, token), ended, atNanos: 5 + 240_000_000_000).calls == [.signIn, .link, .unlink])
}

@Test func `what linking and unlinking did to the account is looked at`() {
  let linked = session(providers: ["oidc.corp"])
  for answers in [[session(), session()], [session(), linked, linked]] {
    #expect(play(LinkUnlink(user(), token), answers).end.contains("linked"))
  }
}

@Test func `a pending token is made anew before it expires`() {
  let user = user()
  let held = Answer.ways(registered: true, methods: [], held: Held(providerID: "oidc.corp", email: login.email))
  let exists = Answer.accountExists(email: login.email, pendingToken: "pending")
  #expect(play(FetchHeld(user, token), [exists, held], atNanos: 1).calls == [.signIn, .fetchProviders])
  #expect(play(FetchHeld(user, token), [held], atNanos: 2) == (calls: [.fetchProviders], end: "done"))
  #expect(play(FetchHeld(user, token), [exists, held], atNanos: 480_000_000_001).calls.count == 2)
}

@Test func `created accounts are deleted`() {
  #expect(play(CreateDelete(login), [session(isNew: true), .done]) == ([.create, .delete], "done"))
  #expect(play(CreateDelete(Login(email: "b@example.com", password: "")), [session()]).end.contains("another address"))
}

@Test func `a refresh must bring a new token of the same account, which the next one presents`() {
  let user = user()
  user.session = SessionFacts(
    idToken: "", refreshToken: "old", account: AccountFacts(id: "id", email: "", isAnonymous: true, providerIDs: []),
    isNew: false)
  #expect(play(SingleCall.refresh(user), [session()]).end == "done")
  #expect(user.session?.refreshToken == "r")
  #expect(play(SingleCall.refresh(user), [session()]).end.contains("as before"))
  #expect(play(SingleCall.refresh(user), [session("other")]).end.contains("another account"))
}

@Test func `single calls are right only with what they must say`() {
  let user = user()
  let right: [(SingleCall, Answer, Answer)] = [
    (.health, .serving(true), .serving(false)),
    (.signingKeys, .signingKeys(count: 1), .signingKeys(count: 0)),
    (.listProviders(FlowWish()), .providers(["google.com", "oidc.corp"]), .providers(["google.com"])),
    (.startFlow(FlowWish()), .flow(id: "f", url: "https://idp.example/?state=s"), .flow(id: "", url: "https://")),
    (.startFlow(FlowWish()), .flow(id: "f", url: "https://idp.example/"), .flow(id: "f", url: "https://f/")),
    (.fetch(email: "", method: "password"), .ways(registered: true, methods: ["password"], held: nil),
      .ways(registered: false, methods: [], held: nil)),
    (.fetch(email: "", method: nil), .ways(registered: true, methods: ["phone"], held: nil),
      .ways(registered: true, methods: [], held: nil)),
    (.signIn(.anonymous, as: user), session(), session(isNew: true)),
    (.reauthenticate(user), session(), session("other")),
    (.get(user), .account(AccountFacts(id: "id", email: "", isAnonymous: false, providerIDs: [])),
      .account(AccountFacts(id: "other", email: "", isAnonymous: false, providerIDs: []))),
    (.lookup(user), .account(AccountFacts(id: "id", email: "", isAnonymous: false, providerIDs: [])), .done),
    (.verify(user), .verdict(active: true, accountID: "id", reason: ""),
      .verdict(active: false, accountID: "", reason: "TOKEN_EXPIRED")),
    (.customToken(user), .customToken("t"), .customToken("")),
  ]
  for (work, good, bad) in right {
    #expect(play(work, [good]).end == "done")
    #expect(!["done", "under way"].contains(play(work, [bad]).end))
    #expect(!["done", "under way"].contains(play(work, [.other("none")]).end))
  }
  #expect(play(SingleCall.signInAnonymous, [session()]).end.contains("not new"))
}

@Test func `a handshake that took up a session is wrong unless it was to`() {
  #expect(play(Handshake(calls: false, resumes: false), [.connected(resumed: false)]).end == "done")
  #expect(play(Handshake(calls: false, resumes: false), [.connected(resumed: true)]).end.contains("earlier session"))
  let whole = [Answer.connected(resumed: true), .serving(true)]
  #expect(play(Handshake(calls: true, resumes: true), whole) == ([.handshake, .check], "done"))
}

@Test func `people whose calls change something are with one iteration at a time, and lost with one that failed`() {
  let pool = Pool([user(), user()], isExclusive: true)
  let mix = Mix([Mix.Part(workload: .refresh, weight: 1, pool: pool) { _, _ in SingleCall.health }], seed: 1)
  func take() -> Iteration? {
    if case .iteration(let iteration) = mix.next() { return iteration }
    return nil
  }
  let taken = [take(), take()].compactMap(\.self)
  #expect(taken.count == 2 && taken[0].user !== taken[1].user)
  #expect(take() == nil)
  mix.ended(taken[0], failed: false)
  mix.ended(taken[1], failed: true)
  #expect(take()?.user === taken[0].user)
  #expect(take() == nil)
}

@Test func `people whose calls change something come in turn`() {
  let people = (0..<3).map { _ in user() }
  let pool = Pool(people, isExclusive: true)
  var generator = SeededGenerator(seed: 1)
  for number in 0..<9 {
    let taken = pool.take(&generator)
    #expect(taken === people[number % 3])
    if let taken { pool.giveBack(taken) }
  }
}

@Test func `people who are only looked at are never used up`() {
  let pool = Pool([user()], isExclusive: false)
  var generator = SeededGenerator(seed: 1)
  #expect(pool.take(&generator) === pool.take(&generator))
}
