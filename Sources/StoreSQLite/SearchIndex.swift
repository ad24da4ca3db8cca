import Store

/// The index of accounts by every three consecutive characters (FTS5's trigram tokenizer).
///
/// Its tables exist only while the index is kept. The writer changes it in the transaction of each change. When it is
/// switched on for an existing store, the writer builds it in portions, in the order of the accounts' numbers. A change
/// that comes before its portion is written twice, with the same result.
enum SearchIndex {
  /// The texts are stored in lower case, one field a line, so that no match spans two fields.
  private static let create = """
    CREATE VIRTUAL TABLE account_search USING fts5(text, tokenize = 'trigram case_sensitive 1', columnsize = 0);
    CREATE TABLE search_state (
      id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
      built_to INTEGER NOT NULL,
      is_complete INTEGER NOT NULL
    ) STRICT;
    INSERT INTO search_state (id, built_to, is_complete) VALUES (1, 0, 0);
    """
  private static let drop = "DROP TABLE account_search; DROP TABLE search_state;"

  /// Makes the tables exist or not, as the option says. Returns whether they exist.
  static func prepare(_ connection: Connection, isWanted: Bool?) throws(SQLiteError) -> Bool {
    let exists = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'search_state'") > 0
    guard let isWanted, isWanted != exists else { return exists }
    try connection.execute("BEGIN IMMEDIATE")
    do throws(SQLiteError) {
      try connection.execute(isWanted ? create : drop)
      try connection.execute("COMMIT")
    } catch {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
      throw error
    }
    return isWanted
  }

  /// Joins the fields of an account. A field of a user contains no line end, or the search could find it in two fields.
  static func text(_ fields: [String?]) -> String {
    fields.compactMap(\.self).filter { !$0.isEmpty }.map { $0.lowercased() }.joined(separator: "\n")
  }

  /// A query for a text as it is. By scalars: a combining mark hides a quote from a search for the character.
  static func match(_ text: String) -> String {
    var query = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { query.unicodeScalars.append(scalar) }
      query.unicodeScalars.append(scalar)
    }
    query.unicodeScalars.append("\"")
    return query
  }
}

// MARK: writing

extension Writer {
  /// Updates the index for the accounts that a change has written. Called before the change is complete.
  func keepSearch(_ change: Change) throws(SQLiteError) {
    for write in change.writes {
      if let id = write.searchedAccount { try index(accountID: id) }
    }
  }

  private func index(accountID: String) throws(SQLiteError) {
    let statement = try connection.statement(
      """
      SELECT number, email, display_name, phone_number,
        (SELECT group_concat(subject, char(10)) FROM identities WHERE account_number = number)
      FROM accounts WHERE id = ?
      """
    ).bind(accountID)
    defer { statement.reset() }
    if try statement.step() { try keep(SearchRow(statement)) }
  }

  private func keep(_ row: SearchRow) throws(SQLiteError) {
    let known = try connection.statement("SELECT text FROM account_search WHERE rowid = ?").bind(row.number)
    defer { known.reset() }
    if try known.step() {
      // Most changes of an account leave these fields as they are.
      if known.text() == row.text { return }
      known.reset()
      try removeFromSearch(number: row.number)
    }
    guard !row.text.isEmpty else { return }
    try connection.statement("INSERT INTO account_search (rowid, text) VALUES (?, ?)").bind(row.number).bind(row.text)
      .run()
  }

  func removeFromSearch(number: Int64) throws(SQLiteError) {
    try connection.statement("DELETE FROM account_search WHERE rowid = ?").bind(number).run()
  }

  /// Adds the next accounts to the index. Returns how many; fewer than `accountsMax`: the index is complete.
  func buildSearch(_ accountsMax: Int) throws(SQLiteError) -> Int {
    guard keepsSearch else { return 0 }
    let state = try connection.statement("SELECT built_to FROM search_state WHERE is_complete = 0")
    guard try state.step() else {
      state.reset()
      return 0
    }
    let builtTo = state.int64()
    state.reset()
    let statement = try connection.statement(
      """
      SELECT number, email, display_name, phone_number,
        (SELECT group_concat(subject, char(10)) FROM identities WHERE account_number = number)
      FROM accounts WHERE number > ? ORDER BY number LIMIT ?
      """
    ).bind(builtTo).bind(accountsMax)
    var rows: [SearchRow] = []
    do throws(SQLiteError) {
      while try statement.step() { rows.append(SearchRow(statement)) }
    } catch {
      statement.reset()
      throw error
    }
    statement.reset()
    for row in rows { try keep(row) }
    try connection.statement("UPDATE search_state SET built_to = ?, is_complete = ?")
      .bind(rows.last?.number ?? builtTo).bind(rows.count < accountsMax).run()
    return rows.count
  }
}

/// The searchable fields of one account.
private struct SearchRow {
  let number: Int64
  let text: String

  init(_ row: Statement) {
    number = row.int64()
    text = SearchIndex.text([row.optionalText(), row.optionalText(), row.optionalText(), row.optionalText()])
  }
}

extension Write {
  /// The account whose searchable fields the write may change, except one that it removes.
  fileprivate var searchedAccount: String? {
    switch self {
    case .account(.insert(let account)), .account(.update(let account)): account.id
    case .identity(.insert(let identity)): identity.accountID
    case .identity(.delete(_, let accountID)): accountID
    case .identity(.update): nil
    case .account(.raise), .account(.touch), .account(.confirm), .account(.cutOff), .account(.requireFreeEmail),
      .account(.close), .account(.forget), .account(.requireIdle), .account(.noteIdle):
      nil
    case .unlink, .factor, .session, .pending, .delivery, .throttle, .signingKey, .record, .failure: nil
    }
  }
}

// MARK: reading

/// The statements of searches on one connection. Prepared when the first search comes, because the tables may be
/// missing.
final class SearchReader {
  private let state, allOfText, all: Statement

  /// nil: there is no index.
  init?(_ connection: Connection) throws(SQLiteError) {
    guard try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'search_state'") > 0 else {
      return nil
    }
    state = try connection.prepare(
      "SELECT is_complete, built_to, (SELECT coalesce(max(number), 0) FROM accounts) FROM search_state")
    allOfText = try connection.prepare(
      SearchReader.select("SELECT rowid AS n FROM account_search WHERE account_search MATCH ?1 AND rowid > ?2"))
    all = try connection.prepare(SearchReader.select("SELECT number AS n FROM accounts WHERE ?1 = '' AND number > ?2"))
  }

  /// Examines a limited number of candidates in order. Each row states whether it meets the filter.
  private static func select(_ candidates: String) -> String {
    """
    SELECT a.number, a.id,
      (NOT ?4 OR a.disabled) AND (NOT ?5 OR a.email_verification IS NULL)
      AND (?6 IS NULL OR CASE ?6 WHEN 'password' THEN a.password_hash IS NOT NULL
        WHEN 'phone' THEN a.phone_number IS NOT NULL
        WHEN 'emailLink' THEN a.email_link AND a.email_verification IS NOT NULL
        ELSE EXISTS (SELECT 1 FROM identities WHERE account_number = a.number AND provider_id = ?6) END)
      AND a.created_at >= coalesce(?7, a.created_at) AND (?8 IS NULL OR a.created_at < ?8)
      AND (?9 IS NULL OR coalesce(\(lastSignIn) >= ?9, 0)) AND (?10 IS NULL OR coalesce(\(lastSignIn) < ?10, 1))
    FROM (\(candidates) ORDER BY n LIMIT ?3) AS m CROSS JOIN accounts AS a ON a.number = m.n ORDER BY m.n
    """
  }

  /// Sessions may state a later sign-in than the account does.
  private static let lastSignIn = """
    nullif(max(coalesce(a.last_sign_in_at, -1),
      coalesce((SELECT max(signed_in_at) FROM sessions WHERE account_id = a.id), -1)), -1)
    """

  /// Returns why a search must wait, or nil.
  func progress() throws(SQLiteError) -> SearchProgress? {
    defer { state.reset() }
    guard try state.step() else { return SearchProgress() }
    if state.bool() { return nil }
    return SearchProgress(indexed: state.int(), accounts: state.int())
  }

  /// Returns the ids of the page's accounts, and where the next page begins.
  func ids(_ query: SearchQuery) throws(SQLiteError) -> (ids: [String], next: String?) {
    let after = Int64(query.after, radix: 36) ?? 0
    let filter = query.filter
    let text = query.text.isEmpty ? "" : SearchIndex.match(query.text)
    // One more than the page needs shows whether there is another page.
    let most = filter == SearchFilter() ? min(query.accountsMax + 1, query.examinedMax) : query.examinedMax
    let statement = (query.text.isEmpty ? all : allOfText).bind(text).bind(after).bind(most).bind(filter.disabled)
      .bind(filter.unverified).bind(filter.providerID).bind(filter.createdFrom).bind(filter.createdBefore)
      .bind(filter.lastSignInFrom).bind(filter.lastSignInBefore)
    defer { statement.reset() }
    var (ids, examined, last) = ([String](), 0, after)
    while try statement.step() {
      let (number, id, isWanted) = (statement.int64(), statement.text(), statement.bool())
      if isWanted, ids.count == query.accountsMax { return (ids, String(last, radix: 36)) }
      (examined, last) = (examined + 1, number)
      if isWanted { ids.append(id) }
    }
    return (ids, examined == most ? String(last, radix: 36) : nil)
  }
}
