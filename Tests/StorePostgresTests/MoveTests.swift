import Store
import StoreSQLite
import Testing

@testable import StoreMigration
@testable import StorePostgres

/// Moves from an embedded store into a database.
@Suite(.enabled(if: Place.isThere)) struct MoveTests {
  @Test func `every record is loaded from the database as from the file`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    let before = embedded.bytes()
    let moved = try embedded.move(to: place).run()
    #expect(moved.changedTexts == 0)
    #expect(moved.tables.map(\.name) == StoredTable.allCases.map(\.name))
    #expect(moved.tables.filter { !$0.isSame || $0.source.rows == 0 } == [])
    #expect(embedded.bytes() == before)
    let (from, to) = (try embedded.open(), try place.open())
    for query in Embedded.queries {
      let (held, found) = (try await from.load(query), try await to.load(query))
      #expect(held != Facts())
      #expect(held == found)
    }
    for query in Embedded.methodsQueries {
      let (held, found) = (try await from.load(query), try await to.load(query))
      #expect(held != nil && held == found)
    }
    await from.close()
    await to.close()
  }

  @Test func `a moved store continues from the state of the file`() async throws {
    let (embedded, place) = (try await Embedded.filled(), try Place())
    _ = try embedded.move(to: place).run()
    let store = try place.open()
    try await Embedded.put(store, .record(.appendAudit(Embedded.event("e5"))))
    let events = try await store.load(Embedded.query { $0.events = EventRange(after: 0, rowsMax: 100) })
    #expect(events.events.map(\.position) == [3, 4, 5, 6] && events.lastEvent == 6)
    let rotation = Write.session(.rotate(
      id: "rotated", from: Embedded.digest(3), to: Embedded.digest(4), at: Embedded.at(7),
      idleExpiresAt: Embedded.at(86_400_000 * 99)))
    #expect(try await store.commit(rotation) == .committed)
    #expect(try place.text("SELECT ends_at = expires_at AND ends_day = expires_day FROM sessions WHERE id = 'rotated'")
      == "t")
    #expect(try await store.commit(.account(.insert(Embedded.bare("gone")))) == .conflict(.accountID))
    #expect(try await store.commit(.account(.insert(Embedded.bare("new")))) == .committed)
    // Only one row of the file has a network.
    #expect(try place.text("SELECT sum(held) FROM pending_networks") == "1")
    // What the file held counts: of the account's places one, of the caller's for links three, of all for links four.
    let limits = [(1, 9, 9), (9, 3, 9), (9, 9, 4)].map(PendingLimits.init(perAccountMax:perCallerMax:totalMax:))
    let outcomes = try await withLimits(limits, store)
    #expect(outcomes == [.limited(.account), .limited(.caller), .limited(.total)])
    _ = try await store.sweep(
      at: Embedded.at(10_000), rowsMax: 100, auditedBefore: Timestamp(millis: .min))
    #expect(try place.text("SELECT \(CountParts.sum("'total'", "''"))") == "0")
    await store.close()
  }

  private func withLimits(_ limits: [PendingLimits], _ store: PostgresStore) async throws -> [Outcome] {
    var outcomes: [Outcome] = []
    for limits in limits {
      let pending = PendingRecord(
        digest: Embedded.digest(20), purpose: .link, identity: IdentityKey(providerID: "x", subject: "y"),
        email: nil, tier: .verified, accountID: "full", caller: CallerName("shop"), binding: nil, attemptID: "a",
        sealed: [], createdAt: Embedded.noon, expiresAt: Embedded.at(1_000), attemptsLeft: 1)
      outcomes.append(try await store.commit(.pending(.insert(pending, limits: limits))))
    }
    return outcomes
  }

  @Test func `an empty store is moved as well, and serves`() async throws {
    let (embedded, place) = (try await Embedded.filled { _ in }, try Place())
    let moved = try embedded.move(to: place).run()
    #expect(moved.tables.allSatisfy { $0.source.rows == 0 && $0.isSame })
    let store = try place.open()
    #expect(try await store.commit(.account(.insert(Embedded.bare("ann")))) == .committed)
    await store.close()
  }

  @Test func `a large table is moved in portions`() async throws {
    let embedded = try await Embedded.filled { store async throws in
      for hundred in 0..<20 {
        let events = (0..<100).map { index in
          var event = Embedded.event("e\(hundred * 100 + index)")
          event.detailsJSON = String(repeating: "é\(index)", count: 400)
          return Write.record(.appendAudit(event))
        }
        #expect(try await store.commit(Change(events), commitDecision: CommitDecision()) == .committed)
      }
    }
    let place = try Place()
    var counts: [Int] = []
    let moved = try embedded.move(to: place) { step in
      if case .copying("audit", let rows) = step { counts.append(rows) }
    }.run()
    #expect(counts.count > 5 && counts == counts.sorted() && counts.last == 2_000)
    #expect(moved.tables.last?.target.rows == 2_000)
    #expect(try place.text("SELECT last FROM audit_position") == "2000")
  }

  @Test func `a character that PostgreSQL cannot store is replaced as in every write`() async throws {
    let embedded = try await Embedded.filled { store async throws in
      var account = Embedded.bare("ann")
      account.displayName = "a\u{0}b\u{0}"
      try await Embedded.put(store, .account(.insert(account)))
    }
    let place = try Place()
    #expect(try embedded.move(to: place).run().changedTexts == 1)
    let store = try place.open()
    #expect(try await store.account("ann")?.displayName == "a\u{FFFD}b\u{FFFD}")
    await store.close()
  }

  @Test func `the tables of the database have exactly the columns that are moved`() throws {
    let place = try Place()
    _ = try PostgresTables(conninfo: place.conninfo, passwordFile: "")
    let found = try place.text(
      """
      SELECT string_agg(table_name || '.' || column_name || ' ' || data_type, ',' ORDER BY 1) FROM (
        SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name NOT IN (
          'schema_version', 'audit_unplaced', 'audit_position', 'changes', 'pending_networks', 'count_parts',
          'pending_locks')) AS c
      """)
    let wanted = StoredTable.allCases.flatMap { table in
      table.columns.map { column in
        let type =
          switch column.kind {
          case .text: "text"
          case .integer: "bigint"
          case .boolean: "boolean"
          case .bytes: "bytea"
          }
        return "\(table.name).\(column.name) \(type)"
      }
    }
    #expect(Set(found.split(separator: ",").map(String.init)) == Set(wanted))
  }
}
