import Store
import Testing

@testable import Identity

/// Section 8, rows E1 to E5.
struct `EndSession, every row` {
  let world = World()
  /// The session of the ID token, another one of its account, and one of another account.
  let own: SessionGrant
  let other: SessionGrant
  let foreign: SessionGrant

  init() throws {
    world.store.insert(account(.verified(ada), password: true, factors: [.totp]))
    world.store.insert(account(id: "bystander"))
    own = try world.session(of: "account-y")
    other = try world.session(of: "account-y")
    foreign = try world.session(of: "bystander")
  }

  func end(_ id: String, _ requester: EndSession.Requester? = nil, audience: String = "app") async throws -> Bool {
    let requester = requester ?? .user(idToken: own.idToken)
    return try await EndSession(world.environment)(id, for: requester, world.call(audience: audience))
  }

  var open: Set<String> { Set(world.store.contents.sessions.values.filter { $0.closed == nil }.map(\.id)) }

  func close(_ session: SessionGrant) {
    let now = world.now
    world.store.edit { $0.sessions[session.sessionID]?.closed = SessionEnd(at: now, reason: .signedOut) }
  }

  func decide(_ id: String, for token: IDToken?) -> EndSessionDecision {
    var query = Query()
    query.sessionID = token?.sessionID
    query.otherSessionID = id
    let facts = world.store.contents.facts(query)
    return EndSessionDecision.decide(id, for: token, facts, call: world.call(), now: world.now)
  }

  // MARK: Rows

  @Test func `E1: an open session can end another open session of the account`() throws {
    let session = try #require(world.store.contents.sessions[other.sessionID])
    let open: Set = [own.sessionID, other.sessionID]
    #expect(decide(session.id, for: try world.claims(own)) == .end(session, open: open, details: [:]))
  }

  @Test func `E1: the token's own session ends`() throws {
    let session = try #require(world.store.contents.sessions[own.sessionID])
    #expect(decide(session.id, for: try world.claims(own)) == .end(session, open: [session.id], details: [:]))
  }

  @Test func `E2: a session that was closed or has expired does not end again`() throws {
    let token = try world.claims(own)
    close(other)
    #expect(decide(other.sessionID, for: token) == .unchanged)
    let second = try world.session(of: "account-y", secondFactor: "totp")
    world.clock.advance(millis: world.policy.secondFactorSessionIdleMillis)
    #expect(decide(second.sessionID, for: token) == .unchanged)
  }

  @Test func `E3: a session of another account gets the same answer as an unknown one`() throws {
    let token = try world.claims(own)
    #expect(decide(foreign.sessionID, for: token) == .unchanged)
    #expect(decide("no-such-session", for: token) == .unchanged)
  }

  @Test func `E4: a token of an ended session ends no other session, and can repeat the end of its own`() throws {
    let token = try world.claims(own)
    close(own)
    #expect(decide(own.sessionID, for: token) == .unchanged)
    for id in [other.sessionID, foreign.sessionID, "no-such-session"] {
      guard case .refuse(let failure) = decide(id, for: token) else { throw UnexpectedAnswer(text: id) }
      #expect(failure.reason == .tokenRevoked)
    }
    world.store.edit { $0.sessions[own.sessionID] = nil }
    #expect(decide(own.sessionID, for: token) == .unchanged, "the store has removed the row")
  }

  @Test func `E5: an administrator ends a session of any account`() throws {
    for id in [own.sessionID, foreign.sessionID] {
      let session = try #require(world.store.contents.sessions[id])
      #expect(decide(id, for: nil) == .end(session, open: [id], details: ["by": "administrator"]))
    }
    close(foreign)
    #expect(decide(foreign.sessionID, for: nil) == .unchanged)
    #expect(decide("no-such-session", for: nil) == .unchanged)
  }

  // MARK: The use case

  @Test func `check 98: only the named session ends, immediately and with its tokens, and the event names it`()
    async throws
  {
    #expect(try await end(other.sessionID))
    #expect(open == [own.sessionID, foreign.sessionID])
    #expect(world.store.contents.sessions[other.sessionID]?.closed?.reason == .revoked)
    await refused(.tokenRevoked) { try await Refresh(world.environment)(other.refreshToken, world.call()) }
    let reading = try VerifyIDToken(world.environment, .idToken(other.idToken), world.call())
    #expect(try await world.environment.read(reading) == .inactive(.tokenRevoked))
    _ = try await Refresh(world.environment)(own.refreshToken, world.call())
    #expect(world.store.contents.events(of: "account-y") == ["SIGNED_OUT"])
    #expect(world.store.contents.audit.last?.detailsJSON == #"{"session_id":"\#(other.sessionID)"}"#)
  }

  @Test func `a repeat succeeds, writes nothing, and reports that it ended nothing`() async throws {
    for session in [other, own] {
      #expect(try await end(session.sessionID))
      let before = world.store.contents
      #expect(try await !end(session.sessionID))
      #expect(world.store.contents == before)
    }
  }

  @Test func `an id without a session of the account writes nothing`() async throws {
    let before = world.store.contents
    for id in [foreign.sessionID, "no-such-session"] { #expect(try await !end(id)) }
    #expect(try await !end("no-such-session", .administrator))
    #expect(world.store.contents == before)
  }

  @Test func `the event names an administrator as its origin`() async throws {
    #expect(try await end(foreign.sessionID, .administrator))
    #expect(world.store.contents.events(of: "bystander") == ["SIGNED_OUT"])
    let details = #"{"by":"administrator","session_id":"\#(foreign.sessionID)"}"#
    #expect(world.store.contents.audit.last?.detailsJSON == details)
    #expect(open == [own.sessionID, other.sessionID])
  }

  @Test func `another audience, a disabled account and an invalid ID token end no session`() async throws {
    await refused(.invalidIDToken) { try await end(other.sessionID, audience: "another") }
    await refused(.invalidIDToken) { try await end(own.sessionID, audience: "another") }
    await refused(.invalidIDToken) { try await end(own.sessionID, .user(idToken: own.refreshToken)) }
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    await refused(.userDisabled) { try await end(other.sessionID) }
    #expect(open.count == 3 && world.store.contents.audit.isEmpty)
  }

  @Test func `an ended session's device is no longer a known one`() async throws {
    for session in [other, own] { #expect(try await end(session.sessionID)) }
    var query = Query()
    query.email = ada
    query.deviceID = "device"
    #expect(!world.store.contents.facts(query).deviceIsKnown)
  }

  // MARK: Races

  @Test func `check 98: a session that is signed out during the call ends no other session`() async throws {
    await world.signedOut(own) { environment in
      _ = try await EndSession(environment)(other.sessionID, for: .user(idToken: own.idToken), world.call())
    }
  }

  @Test func `check 98: an attacker who keeps changing the account does not delay the end`() async throws {
    let call = world.call()
    #expect(try await EndSession(world.outrun)(other.sessionID, for: .user(idToken: own.idToken), call))
    #expect(open == [own.sessionID, foreign.sessionID])
  }

  @Test func `one of fifty concurrent ends of one session ends it, with one event`() async throws {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    let (own, other) = (try world.session(of: "account-y"), try world.session(of: "account-y"))
    let ended = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<50 {
        let requester = number % 2 == 0 ? EndSession.Requester.administrator : .user(idToken: own.idToken)
        group.addTask { try await EndSession(world.environment)(other.sessionID, for: requester, world.call()) }
      }
      return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(ended == 1 && world.store.contents.events(of: "account-y") == ["SIGNED_OUT"])
  }

  @Test func `one of two sessions that end each other concurrently stays open`() async throws {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    let (own, other) = (try world.session(of: "account-y"), try world.session(of: "account-y"))
    let ended = await withTaskGroup(of: Bool.self) { group in
      for (session, target) in [(own, other), (other, own)] {
        group.addTask {
          (try? await EndSession(world.environment)(
            target.sessionID, for: .user(idToken: session.idToken), world.call())) ?? false
        }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(ended == 1 && world.store.contents.openSessions(of: "account-y").count == 1)
  }

  @Test func `no refresh during the end of its session survives it`() async throws {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    let (own, other) = (try world.session(of: "account-y"), try world.session(of: "account-y"))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask { _ = try? await Refresh(world.environment)(other.refreshToken, world.call()) }
      }
      group.addTask {
        _ = try? await EndSession(world.environment)(
          other.sessionID, for: .user(idToken: own.idToken), world.call())
      }
    }
    #expect(world.store.contents.openSessions(of: "account-y").map(\.id) == [own.sessionID])
    await refused(.tokenRevoked) { try await Refresh(world.environment)(other.refreshToken, world.call()) }
  }
}
