import Store
import Testing

@testable import Identity

private let callback = "https://app.example/callback"

extension World {
  /// Starts a flow with the provider.
  func start(
    _ providerID: String = "google.com", _ purpose: FlowPurpose = .signIn, redirectURI: String = callback,
    idToken: String = "", _ call: CallFacts? = nil
  ) async throws -> FlowStarted {
    let request = StartFlowRequest(
      providerID: providerID, redirectURI: redirectURI, purpose: purpose, idToken: idToken)
    return try await StartFlow(environment)(request, call ?? self.call())
  }

  /// The provider's redirect for a user with this assertion.
  func redirect(
    _ started: FlowStarted, _ assertion: Assertion, authenticatedAt: Timestamp? = nil, to uri: String = callback
  ) -> Credential {
    var tokens = ProviderTokens(providerID: assertion.identity.providerID)
    tokens.accessToken = "theirs"
    let code = providers.code(
      VerifiedCredential(assertion: assertion, tokens: tokens, authenticatedAt: authenticatedAt))
    let state = started.authorizationURL.split(separator: "=").last ?? ""
    return .authorizationResponse(
      AuthorizationResponse(
        flowID: started.flowID, callbackURI: "\(uri)\(uri.contains("?") ? "&" : "?")code=\(code)&state=\(state)"))
  }
}

@Suite struct FlowTests {
  let world = World()

  @Test func `A flow ends in a session, with the provider's own tokens`() async throws {
    let started = try await world.start()
    #expect(started.expiresAt == world.now.adding(millis: 600_000))
    #expect(!started.authorizationURL.contains(started.flowID))
    let grant = try await world.signIn(world.redirect(started, google())).grant
    #expect(grant.isNewAccount && grant.tokens?.accessToken == "theirs" && grant.userInfo?.username == "ada-g-1")
    let flow = try #require(world.providers.redeemed.first)
    #expect(flow.order.codeVerifier.utf8.count == 43 && flow.order.nonce != flow.order.state)
    #expect(flow.kept == "kept for google.com" && flow.startedAt == world.now)
  }

  @Test func `checks 61 and 67: a redirect is valid once, and its code reaches the provider once`() async throws {
    let redirect = world.redirect(try await world.start(), google())
    _ = try await world.signIn(redirect)
    await refused(.flowUsed) { try await world.signIn(redirect) }
    #expect(world.providers.redeemed.count == 1)
  }

  @Test func `check 67: fifty callers with one redirect redeem its code once`() async throws {
    let world = world
    let redirect = world.redirect(try await world.start(), google())
    let sessions = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 {
        group.addTask { if case .session? = try? await world.signIn(redirect) { 1 } else { 0 } }
      }
      return await group.reduce(0, +)
    }
    #expect(sessions == 1 && world.providers.redeemed.count == 1)
  }

  @Test func `check 61: a flow expires after ten minutes`() async throws {
    let redirect = world.redirect(try await world.start(), google())
    world.clock.advance(millis: 600_000)
    await refused(.flowExpired) { try await world.signIn(redirect) }
    #expect(world.providers.redeemed.isEmpty)
  }

  @Test func `check 61: a flow of another caller, browser or purpose is refused like an unknown one`() async throws {
    func mine() -> CallFacts { world.call(binding: "browser of ada") }
    let redirect = world.redirect(try await world.start("google.com", .signIn, mine()), google())
    let pending = world.hold(google(), for: "account-y")
    var refusals: [Failure?] = []
    for call in [
      world.call(), world.call(binding: "browser of eve"), world.call(caller: "other", binding: "browser of ada"),
    ] {
      refusals.append(await refused(.flowMismatch) { try await world.signIn(redirect, call) })
    }
    for handle in [pending, "nonsense", ""] {
      let response = AuthorizationResponse(flowID: handle, callbackURI: callback + "?code=1")
      refusals.append(
        await refused(.flowMismatch) { try await world.signIn(.authorizationResponse(response), mine()) })
    }
    #expect(Set(refusals.map { $0?.hint }).count == 1 && world.providers.redeemed.isEmpty)
    _ = try await world.signIn(redirect, mine())
  }

  @Test(arguments: ["", "state=", "state=foreign", "State=x"])
  func `check 61: a missing or foreign state is rejected, and the flow stays valid`(_ state: String) async throws {
    let started = try await world.start()
    let response = AuthorizationResponse(flowID: started.flowID, callbackURI: "\(callback)?code=x&\(state)")
    await refused(.flowMismatch) { try await world.signIn(.authorizationResponse(response)) }
    #expect(world.providers.redeemed.isEmpty)
    _ = try await world.signIn(world.redirect(started, google()))
  }

  @Test func `Five wrong redirects use a flow up`() async throws {
    let started = try await world.start()
    let wrong = AuthorizationResponse(flowID: started.flowID, callbackURI: "\(callback)?code=x&state=y")
    for _ in 0..<world.policy.pendingAttemptsMax {
      await refused(.flowMismatch) { try await world.signIn(.authorizationResponse(wrong)) }
    }
    await refused(.flowUsed) { try await world.signIn(world.redirect(started, google())) }
  }

  @Test func `The adapter checks the redirect of a protocol without state`() async throws {
    let started = try await world.start("oidc.other")
    let code = world.providers.code(
      VerifiedCredential(assertion: assertion("oidc.other", "o-1", email: nil, tier: .unverified)))
    let response = AuthorizationResponse(flowID: started.flowID, callbackURI: "\(callback)?code=\(code)")
    let grant = try await world.signIn(.authorizationResponse(response)).grant
    #expect(grant.isNewAccount)
  }

  @Test func `L12 an old login is rejected, and the redirect is valid after a new one`() async throws {
    let world = World { $0.linkRecentLoginMillis = 60_000 }
    world.store.insert(account(.verified(ada), password: true))
    let old = try world.session(of: "account-y")
    let started = try await world.start("google.com", .link, idToken: old.idToken)
    let redirect = world.redirect(started, google())
    world.clock.advance(millis: 60_000)
    await refused(.requiresRecentLogin) { try await world.link(redirect, old) }
    #expect(world.providers.redeemed.isEmpty)
    _ = try await world.link(redirect, try world.session(of: "account-y")).grant
  }

  @Test func `A redirect is not spent if the row cannot be completed`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let redirect = world.redirect(try await world.start(), google())
    for handle in ["no handle", String(repeating: "A", count: 43)] {
      await refused(.pendingCredentialMismatch) { try await world.signIn(redirect, pendingToken: handle) }
    }
    let lapsed = world.hold(corp(), for: "account-y")
    world.store.edit { tables in
      for digest in tables.pendings.keys where tables.pendings[digest]?.purpose == .link {
        tables.pendings[digest]?.expiresAt = world.now
      }
    }
    await refused(.pendingCredentialExpired) { try await world.signIn(redirect, pendingToken: lapsed) }
    #expect(world.providers.redeemed.isEmpty)
    #expect(try await world.signIn(redirect).grant.account.account.id == "account-y")
  }

  @Test func `A flow is spent even if the provider fails`() async throws {
    let redirect = world.redirect(try await world.start(), google())
    world.providers.refuse(with: Failure(.providerUnavailable, hint: "Try again.", retryAfterMillis: 5_000))
    // So that no caller is advised to repeat the call.
    let failure = await refused(.providerUnavailable) { try await world.signIn(redirect) }
    #expect(failure?.retryAfterMillis == nil && failure?.hint.contains("start the flow again") == true)
    world.providers.refuse(with: nil)
    await refused(.flowUsed) { try await world.signIn(redirect) }
  }

  @Test func `An answer about another provider than the flow's is refused`() async throws {
    await refused(.flowMismatch) { try await world.signIn(world.redirect(try await world.start(), corp())) }
    #expect(world.store.contents.accounts.isEmpty)
  }

  @Test func `A conflict returns the provider's tokens`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let exists = try await world.signIn(world.redirect(try await world.start(), google())).exists
    #expect(exists.tokens?.accessToken == "theirs")
    let grant = try await world.signIn(rightPassword, pendingToken: exists.handle).grant
    #expect(grant.tokens == nil && grant.account.identities.count == 1)
  }

  @Test func `A redirect completes a pending credential`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let exists = try await world.signIn(corp()).exists
    let grant = try await world.signIn(
      world.redirect(try await world.start(), google()), pendingToken: exists.handle
    ).grant
    #expect(grant.account.identities.count == 2)
  }
}

@Suite struct FlowPurposeTests {
  let world = World()

  @Test func `A redirect is valid only for the purpose of its flow`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    for purpose in FlowPurpose.allCases {
      let idToken = purpose == .signIn ? "" : session.idToken
      for use in FlowPurpose.allCases where use != purpose {
        let redirect = world.redirect(try await world.start("google.com", purpose, idToken: idToken), google())
        await refused(.flowMismatch) {
          switch use {
          case .signIn: _ = try await world.signIn(redirect)
          case .link: _ = try await world.link(redirect, session)
          case .reauthenticate: _ = try await world.reauthenticate(redirect, session)
          }
        }
      }
    }
    #expect(world.providers.redeemed.isEmpty)
  }

  @Test func `A link flow links to the account that started it, and to no other`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    world.store.insert(account(id: "account-z", password: true))
    let session = try world.session(of: "account-y")
    let other = try world.session(of: "account-z")
    let redirect = world.redirect(try await world.start("google.com", .link, idToken: session.idToken), google())
    await refused(.flowMismatch) { try await world.link(redirect, other) }
    let grant = try await world.link(redirect, session).grant
    #expect(grant.account.identities.map(\.key.providerID) == ["google.com"] && grant.tokens?.accessToken == "theirs")
  }

  @Test func `A guest with redirects in two windows is signed in by the second as well`() async throws {
    world.store.insert(account(anonymous: true))
    let guest = try world.session(of: "account-y", by: .anonymous)
    var windows = [FlowStarted]()
    for _ in 0..<3 { windows.append(try await world.start("google.com", .link, idToken: guest.idToken)) }
    _ = try await world.link(world.redirect(windows[0], google()), guest)
    guard case .session(let grant, alreadyLinked: true) = try await world.link(
      world.redirect(windows[1], google()), guest)
    else {
      Issue.record("the identity is the account's")
      return
    }
    #expect(try world.claims(grant).signInProviderID == "google.com")
    await refused(.tokenRevoked) { try await world.link(world.redirect(windows[2], google("g-2")), guest) }
  }

  @Test func `check 88: a reauthentication requests a fresh login and rejects an old one`() async throws {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let session = try world.session(of: "account-y")
    let begun = world.now
    for (authenticatedAt, isFresh) in [
      (nil, true), (begun.adding(millis: -60_000), true), (begun.adding(millis: -60_001), false),
    ] {
      let started = try await world.start("google.com", .reauthenticate, idToken: session.idToken)
      let redirect = world.redirect(started, google(), authenticatedAt: authenticatedAt)
      if isFresh {
        _ = try await world.reauthenticate(redirect, session).grant
      } else {
        await refused(.requiresRecentLogin) { try await world.reauthenticate(redirect, session) }
      }
    }
    let wereFresh = world.providers.redeemed.map(\.order.freshLogin)
    #expect(wereFresh == [true, true, true])
  }

  @Test(arguments: [false, true])
  func `check 88: a login without a time from the provider yields a lower grade`(_ strict: Bool)
    async throws
  {
    let world = World { $0.recentLoginConfirmed = strict }
    world.store.insert(account(.verified(ada), password: true, identities: [google(), corp()]))
    let session = try world.session(of: "account-y")
    func grant(_ authenticatedAt: Timestamp?) async throws -> SessionGrant {
      let started = try await world.start("google.com", .reauthenticate, idToken: session.idToken)
      return try await world.reauthenticate(
        world.redirect(started, google(), authenticatedAt: authenticatedAt), session
      ).grant
    }
    let (silent, fresh) = (try await grant(nil), try await grant(world.now))
    #expect(try world.claims(silent).methods == ["fed"])
    #expect(try world.claims(fresh).methods == ["fed", "fresh"])
    if strict {
      let failure = await refused(.requiresRecentLogin) { try await world.unlink("oidc.corp", silent) }
      #expect(failure?.metadata["confirmed"] == "required")
    }
    _ = try await world.unlink("oidc.corp", strict ? fresh : silent)
  }

  @Test func `a sign-in is fresh if the provider reports a login within the window`() async throws {
    let window = world.policy.recentLoginMillis + 60_000
    for (ageMillis, methods) in [(window, ["fed", "fresh"]), (window + 1, ["fed"])] {
      let started = try await world.start("google.com", .signIn)
      let redirect = world.redirect(started, google(), authenticatedAt: world.now.adding(millis: -ageMillis))
      let grant = try await world.signIn(redirect).grant
      #expect(try world.claims(grant).methods == methods)
    }
  }

  @Test func `Link and reauthentication flows require a session, and a sign-in rejects one`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let session = try world.session(of: "account-y")
    await refused(.invalidField) { try await world.start("google.com", .signIn, idToken: session.idToken) }
    for purpose in [FlowPurpose.link, .reauthenticate] {
      await refused(.invalidIDToken) { try await world.start("google.com", purpose, idToken: "nonsense") }
    }
    #expect(world.store.contents.pendings.isEmpty)
  }
}

@Suite struct FlowStartTests {
  let world = World()

  @Test(arguments: [
    "https://app.example/callback/", "https://app.example/callback?x=1", "https://app.example/Callback",
    "https://app.example:443/callback", "http://app.example/callback", "https://app.example/callback#",
    "https://user@app.example/callback", "https://app.example/cal%6Cback", "https://app.example/callbac",
  ])
  func `check 65: a redirect URI that differs in a byte is refused`(_ uri: String) async {
    let failure = await refused(.redirectURINotAllowed) { try await world.start(redirectURI: uri) }
    #expect(failure?.field == "redirect_uri")
    #expect(world.store.contents.pendings.isEmpty)
  }

  @Test func `A redirect URI with a query of its own keeps it`() async throws {
    let uri = "https://app.example/back?page=1"
    let started = try await world.start(redirectURI: uri)
    let grant = try await world.signIn(world.redirect(started, google(), to: uri)).grant
    #expect(grant.isNewAccount)
  }

  @Test func `Providers that are unknown, disabled or without flows are refused`() async {
    await refused(.operationNotAllowed) { try await world.start("nobody.example") }
    let other = World { $0.enabledProviderIDs.insert("yahoo.com") }
    await refused(.operationNotAllowed) { try await other.start("yahoo.com") }
    let without = World { $0.enabledProviderIDs.remove("google.com") }
    await refused(.operationNotAllowed) { try await without.start() }
  }

  @Test func `A redirect fails if its provider was disabled after the start`() async throws {
    let started = try await world.start()
    let redirect = world.redirect(started, google())
    var later = world
    later.policy.enabledProviderIDs.remove("google.com")
    await refused(.operationNotAllowed) { try await later.signIn(redirect) }
    #expect(world.providers.redeemed.isEmpty)
  }

  @Test func `check 74: a row of the table does not reveal state, nonce, verifier or the adapter's data`()
    async throws
  {
    let started = try await world.start()
    let row = try #require(world.store.contents.pendings.values.first)
    #expect(row.purpose == .flow && row.accountID.isEmpty && row.identity.subject.isEmpty)
    let stored = String(decoding: row.sealed, as: UTF8.self)
    let url = try #require(started.authorizationURL.split(separator: "=").last)
    #expect(!stored.contains("kept for") && !stored.contains(url) && !stored.contains(started.flowID))
  }

  @Test func `A flow id is not a pending token`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let started = try await world.start()
    await refused(.pendingCredentialMismatch) {
      try await world.signIn(rightPassword, pendingToken: started.flowID)
    }
    await refused(.pendingCredentialMismatch) { try await world.signIn(.pendingToken(started.flowID)) }
  }

  @Test func `A flow requires a binding if configured`() async {
    let strict = World { $0.requireBinding = true }
    await refused(.invalidField) { try await strict.start() }
  }
}

@Suite struct CallbackURITests {
  @Test func `The parameters of a redirect are decoded as a form`() {
    #expect(
      CallbackURI.parameters(of: "\(callback)?code=a%2Fb+c%C3%A9&state=s&empty&eq==#frag", at: callback)
        == ["code": "a/b cé", "state": "s", "empty": "", "eq": "="])
  }

  @Test(arguments: [
    "https://app.example/callback", "https://app.example/callback2?code=1", "https://app.example/callback/?code=1",
    "HTTPS://app.example/callback?code=1", "https://evil.example/callback?code=1", "?code=1", "",
    "https://app.example/callback?code=1&code=2", "https://app.example/callback?code=%",
    "https://app.example/callback?code=%4", "https://app.example/callback?code=%GG",
    "https://app.example/callback?code=%00", "https://app.example/callback?code=%FF",
    "https://app.example/callback&code=1",
  ])
  func `A redirect to another address, or a broken one, is not accepted`(_ uri: String) {
    #expect(CallbackURI.parameters(of: uri, at: callback) == nil)
  }

  @Test(arguments: [
    ("https://app.example", "https://app.example/"), ("https://app.example:8443", "https://app.example:8443/"),
    ("https://app.example?page=1", "https://app.example/?page=1"), ("http://127.0.0.1", "http://127.0.0.1/"),
  ])
  func `A redirect URI without a path also matches with a slash, which browsers add`(
    _ registered: String, _ seen: String
  ) {
    let separator = registered.contains("?") ? "&" : "?"
    for address in [registered, seen] {
      #expect(CallbackURI.parameters(of: "\(address)\(separator)code=1", at: registered) == ["code": "1"])
    }
    for address in [registered + "//", registered + "/x", seen + "/", "https://app.example.org/"] {
      #expect(CallbackURI.parameters(of: "\(address)\(separator)code=1", at: registered) == nil)
    }
  }

  @Test func `Thirty-two parameters are accepted and one more is not`() {
    let query = (0..<32).map { "p\($0)=1" }.joined(separator: "&")
    #expect(CallbackURI.parameters(of: "\(callback)?\(query)", at: callback)?.count == 32)
    #expect(CallbackURI.parameters(of: "\(callback)?\(query)&q=1", at: callback) == nil)
  }
}
