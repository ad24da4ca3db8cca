import Reactor
package import Store
import Synchronization

// Search of accounts. The database maintains the indexes, so they are as new as the rows.

/// What the database can search by.
enum SearchAbility: Int {
  /// The store was opened without search.
  case disabled
  /// An index is missing.
  case missing
  /// Ordered indexes find the beginning of a text.
  case beginning
  /// Trigram indexes find any part of a text.
  case part
}

extension PostgresStore {
  package func search(_ query: SearchQuery) async throws -> SearchResult {
    let ability = SearchAbility(rawValue: searchAbility.load(ordering: .relaxed)) ?? .disabled
    let match: MatchKind
    switch ability {
    case .disabled: return .disabled
    case .missing: return .building(SearchProgress())
    case .beginning: match = .beginning
    case .part: match = .part
    }
    let found = try await retrying { await self.findOnce(query, match) }
    guard !found.ids.isEmpty else { return .page(SearchPage(accounts: [], next: found.next, match: match)) }
    let accounts = try await retrying { await self.states(found.ids) }
    return .page(SearchPage(accounts: accounts, next: found.next, match: match))
  }

  private struct Found: Sendable {
    var ids: [String] = []
    var next: String?
  }

  private func findOnce(_ query: SearchQuery, _ match: MatchKind) async -> Result<Found, RequestError> {
    // One more than the page needs shows whether there is another page.
    let most = query.filter == SearchFilter() ? min(query.accountsMax + 1, query.examinedMax) : query.examinedMax
    // The selectivity of the text decides between the index and the order of the ids, so each search has its own plan.
    return await ask(
      .reading, begin: .beginReading,
      { [BoundStatement(.ownPlans), PostgresStore.finding(query, match, most: most)] }
    ) { answers throws(RequestError) in
      guard let rows = answers.last else { throw .corrupt("a search has no result") }
      var (found, examined, last) = (Found(), 0, query.after)
      while rows.step() {
        let (id, isWanted) = (rows.text(), try rows.bool())
        if isWanted, found.ids.count == query.accountsMax {
          found.next = last
          return found
        }
        (examined, last) = (examined + 1, id)
        if isWanted { found.ids.append(id) }
      }
      if examined == most { found.next = last }
      return found
    }
  }

  private static func finding(_ query: SearchQuery, _ match: MatchKind, most: Int) -> BoundStatement {
    let filter = query.filter
    let step =
      switch match {
      case _ where query.text.isEmpty: BoundStatement(.findAll)
      case .part: BoundStatement(.findPart).bind("%" + pattern(query.text) + "%")
      // No character is greater than the last one.
      case .beginning: BoundStatement(.findBeginning).bind(query.text).bind(query.text + "\u{10FFFF}")
      }
    return step.bind(query.after).bind(most).bind(filter.disabled).bind(filter.unverified).bind(filter.providerID)
      .bind(filter.createdFrom).bind(filter.createdBefore).bind(filter.lastSignInFrom).bind(filter.lastSignInBefore)
  }

  /// The text as it is in a pattern of LIKE. By scalars: a combining mark hides a `_` from a search for the character.
  static func pattern(_ text: String) -> String {
    var pattern = ""
    for scalar in text.unicodeScalars {
      if ["\\", "%", "_"].contains(scalar) { pattern.unicodeScalars.append("\\") }
      pattern.unicodeScalars.append(scalar)
    }
    return pattern
  }

  private func states(_ ids: [String]) async -> Result<[AccountState], RequestError> {
    // An id has no line end.
    let list = ids.joined(separator: "\n")
    return await ask(
      .reading, begin: .beginReading,
      { [BoundStatement(.foundAccounts).bind(list), BoundStatement(.foundDependents).bind(list)] }
    ) { answers throws(RequestError) in
      guard answers.count == 2 else { throw .corrupt("\(answers.count) answers to 2 statements") }
      var states: [String: AccountState] = [:]
      while answers[0].step() {
        let account: AccountRecord = try answers[0].record()
        states[account.id] = AccountState(account: account)
      }
      while answers[1].step() {
        let row = try DependentRow(answers[1])
        states[row.accountID]?.add(row)
      }
      return ids.compactMap { states[$0] }
    }
  }
}

// MARK: the indexes

extension PostgresStore {
  /// Builds the missing indexes without locking their tables, on a connection and a thread of its own. Of several
  /// processes, one builds and the others look again later.
  package func buildSearchIndex(accountsMax: Int) async throws -> Int {
    guard options.search else { return 0 }
    let built: Result<SearchAbility, StoreError> = await withCheckedContinuation { continuation in
      do throws(SystemError) {
        try tryStartThread(named: "store-search", niceness: 10) { [options] in
          continuation.resume(returning: Result { () throws(StoreError) in try SearchIndexes.build(options) })
        }
      } catch {
        continuation.resume(returning: .failure(.unavailable("\(error)")))
      }
    }
    searchAbility.store(try built.get().rawValue, ordering: .relaxed)
    return 0
  }
}

/// The indexes of searches. They are no part of the schema, because the right to create an extension may be missing.
private enum SearchIndexes {
  private typealias Index = (name: String, definition: String)

  /// - Parameter schema: of the extension, which may be missing in the search path.
  private static func ofParts(_ schema: String) -> [Index] {
    [
      ("accounts_search", "accounts USING gin ((\(Statement.searchedText)) \(schema).gin_trgm_ops)"),
      ("identities_search", "identities USING gin ((\(Statement.searchedSubject)) \(schema).gin_trgm_ops)"),
    ]
  }

  /// Email addresses and phone numbers have an ordered index anyway.
  private static let ofBeginnings: [Index] = [
    ("accounts_search_name", "accounts ((\(Statement.searchedName)) COLLATE \"C\")"),
    ("identities_search_subject", "identities ((\(Statement.searchedSubject)) COLLATE \"C\")"),
  ]
  /// Of the schema, since several stores can share a database.
  private static let lock = "pg_try_advisory_lock(1819112050, hashtext(current_schema()))"

  static func build(_ options: Options) throws(StoreError) -> SearchAbility {
    do throws(ReadyConnection.Refusal) {
      let connection = try ReadyConnection.connect(options)
      defer { connection.abandon() }
      let schema = options.mayUseTrigrams ? try schemaOfTrigrams(connection) : ""
      let (indexes, ability) = schema.isEmpty ? (ofBeginnings, SearchAbility.beginning) : (ofParts(schema), .part)
      if try isComplete(connection, indexes) { return ability }
      // The lock ends with the connection.
      guard try connection.text("SELECT \(lock)") == "t" else { return .missing }
      try connection.execute("SET statement_timeout = 0")
      for index in indexes { try IndexBuild(name: index.name, on: index.definition).run(on: connection) }
      // Without statistics of the indexed expressions, the planner guesses.
      try connection.execute("ANALYZE accounts")
      try connection.execute("ANALYZE identities")
      return ability
    } catch {
      throw .unavailable("the index of searches cannot be built: \(error.text)")
    }
  }

  /// Returns the quoted schema of the extension, which is created if this user may. Empty: there is none.
  private static func schemaOfTrigrams(_ connection: ReadyConnection) throws(ReadyConnection.Refusal) -> String {
    let find = """
      SELECT quote_ident(nspname) FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
      WHERE extname = 'pg_trgm'
      """
    let found = try connection.text(find)
    if !found.isEmpty { return found }
    do throws(ReadyConnection.Refusal) {
      // Not in the schema of this store: other stores of the database share the extension.
      try connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public")
    } catch {
      // Without the files of the extension, the right, or in a race with another process.
      guard !error.state.isEmpty else { throw error }
    }
    return try connection.text(find)
  }

  private static func isComplete(
    _ connection: ReadyConnection, _ indexes: [Index]
  ) throws(ReadyConnection.Refusal) -> Bool {
    for index in indexes {
      let isValid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('\(index.name)')"
      if try connection.text(isValid) != "t" { return false }
    }
    return true
  }
}

extension Statement {
  // In lower case by the rules of the database's own collation. Fields are on lines of their own, so that no match
  // spans two.
  fileprivate static let searchedText = """
    lower((coalesce(email, '') || E'\\n' || display_name || E'\\n' || coalesce(phone_number, '')) COLLATE "default")
    """
  fileprivate static let searchedName = "lower(display_name COLLATE \"default\")"
  fileprivate static let searchedSubject = "lower(subject COLLATE \"default\")"

  static let ownPlans = Statement("own_plans", "SET LOCAL plan_cache_mode = force_custom_plan")
  static let findAll = Statement(
    "find_all", find("SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT $2", firstFilter: 3))
  static let findPart = Statement(
    "find_part",
    find(
      """
      (SELECT id FROM accounts WHERE \(searchedText) LIKE $1 AND id > $2 ORDER BY id LIMIT $3)
      UNION (SELECT account_id FROM identities WHERE \(searchedSubject) LIKE $1 AND account_id > $2
        ORDER BY account_id LIMIT $3)
      ORDER BY id LIMIT $3
      """, firstFilter: 4))
  static let findBeginning = Statement(
    "find_beginning",
    find(
      """
      (SELECT id FROM accounts WHERE email >= $1 AND email < $2 AND id > $3 ORDER BY id LIMIT $4)
      UNION (SELECT id FROM accounts WHERE phone_number >= $1 AND phone_number < $2 AND id > $3 ORDER BY id LIMIT $4)
      UNION (SELECT id FROM accounts
        WHERE \(searchedName) COLLATE "C" >= $1 AND \(searchedName) COLLATE "C" < $2 AND id > $3 ORDER BY id LIMIT $4)
      UNION (SELECT account_id FROM identities
        WHERE \(searchedSubject) COLLATE "C" >= $1 AND \(searchedSubject) COLLATE "C" < $2 AND account_id > $3
        ORDER BY account_id LIMIT $4)
      ORDER BY id LIMIT $4
      """, firstFilter: 5))

  /// Examines a limited number of candidates in order. Each row states whether it meets the filter.
  private static func find(_ candidates: String, firstFilter first: Int) -> String {
    func filter(_ index: Int, _ type: String) -> String { "$\(first + index)::\(type)" }
    let provider = filter(2, "text")
    return """
      SELECT a.id,
        (NOT \(filter(0, "boolean")) OR a.disabled)
        AND (NOT \(filter(1, "boolean")) OR a.email_verification IS NULL)
        AND (\(provider) IS NULL OR CASE \(provider) WHEN 'password' THEN a.password_hash IS NOT NULL
          WHEN 'phone' THEN a.phone_number IS NOT NULL
          WHEN 'emailLink' THEN a.email_link AND a.email_verification IS NOT NULL
          ELSE EXISTS (SELECT 1 FROM identities AS i WHERE i.account_id = a.id AND i.provider_id = \(provider)) END)
        AND (\(filter(3, "bigint")) IS NULL OR a.created_at >= \(filter(3, "bigint")))
        AND (\(filter(4, "bigint")) IS NULL OR a.created_at < \(filter(4, "bigint")))
        AND (\(filter(5, "bigint")) IS NULL OR coalesce(a.last_sign_in_at >= \(filter(5, "bigint")), false))
        AND (\(filter(6, "bigint")) IS NULL OR coalesce(a.last_sign_in_at < \(filter(6, "bigint")), true))
      FROM (\(candidates)) AS m JOIN accounts AS a ON a.id = m.id ORDER BY a.id
      """
  }

  private static let foundIDs = "= ANY(string_to_array($1, E'\\n'))"
  static let foundAccounts = Statement("found_accounts", AccountRecord.select("WHERE id \(foundIDs)"))
  static let foundDependents = Statement("found_dependents", DependentRow.select(ofAccounts: foundIDs))

  static let ofSearches = [ownPlans, findAll, findPart, findBeginning, foundAccounts, foundDependents]
}
