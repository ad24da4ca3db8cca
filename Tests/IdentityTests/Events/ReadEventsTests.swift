import Store
import Testing

@testable import Identity

@Suite struct `Events` {
  private func facts(_ positions: ClosedRange<Int64>, last: Int64) -> Facts {
    var facts = Facts()
    facts.events = positions.map { position in
      var record = AuditRecord(
        id: "e\(position)", at: beginning, accountID: "a", event: position.isMultiple(of: 2) ? "LINKED" : "SIGNED_IN",
        caller: CallerName("web"))
      record.position = position
      return record
    }
    facts.lastEvent = last
    return facts
  }

  @Test(arguments: [0, 1, 35, 36, 1_000_000, Int64.max])
  func `a cursor reads back as it was returned`(position: Int64) {
    let cursor = EventCursor(position: position)
    #expect(EventCursor(cursor.text) == cursor)
  }

  @Test(arguments: ["", "a", "b1", "1", "a01", "a-1", "a+1", "aZ", "a ", "a1y2p0ij32e8e8"])
  func `text that is not a cursor is rejected`(text: String) {
    #expect(EventCursor(text) == nil)
  }

  @Test func `the cursor advances past events of other types`() throws {
    let reading = ReadEvents(after: EventCursor(position: 2), types: ["LINKED"])
    #expect(reading.query.events == EventRange(after: 2, rowsMax: 64))
    let batch = try reading.answer(facts(3...5, last: 9))
    #expect(batch.events.map(\.id) == ["e4"])
    #expect(batch.cursor.position == 5 && !batch.isLast)
    #expect(try reading.answer(facts(3...9, last: 9)).isLast)
  }

  @Test func `without a cursor a watch begins at the newest event`() throws {
    let batch = try ReadEvents(after: nil, types: []).answer(facts(1...1, last: 7))
    #expect(batch == EventBatch(events: [], cursor: EventCursor(position: 7), isLast: true))
  }

  @Test func `a cursor ahead of every event is rejected, since it would skip events of a restored copy`() async {
    let failure = await refused(.invalidField) {
      try ReadEvents(after: EventCursor(position: 8), types: []).answer(facts(1...1, last: 7))
    }
    #expect(failure?.field == "cursor")
  }

  @Test func `every sign-in leaves an event, in addition to other changes`() async throws {
    let world = World()
    world.store.insert(account(.verified(ada), password: true))
    let session = try await world.signIn(rightPassword).grant
    #expect(world.store.contents.allEvents(of: "account-y") == ["SIGNED_IN"])
    #expect(world.store.contents.audit.first?.detailsJSON
      == "{\"provider_id\":\"password\",\"session_id\":\"\(session.sessionID)\"}")
    _ = try await world.reauthenticate(rightPassword, session).grant
    try await SignOut(world.environment)(.refreshToken(session.refreshToken), world.call())
    try await SignOut(world.environment)(.refreshToken(session.refreshToken), world.call())
    #expect(
      world.store.contents.allEvents(of: "account-y") == ["SIGNED_IN", "REAUTHENTICATED", "SIGNED_OUT"])
    let created = try await world.signIn(google(email: "new@example.com")).grant.account.account.id
    #expect(world.store.contents.allEvents(of: created) == ["ACCOUNT_CREATED", "SIGNED_IN"])
  }

  @Test func `a failed sign-in leaves no event`() async {
    let world = World()
    world.store.insert(account(.verified(ada), password: true))
    await refused(.invalidLoginCredentials) {
      try await world.signIn(.password(email: ada, password: "wrong"))
    }
    #expect(world.store.contents.audit.isEmpty)
  }
}
