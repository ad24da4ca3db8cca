// What only administrators may do, beyond what ends a session.

/// Looks at the first two pages of all accounts.
struct ListAccounts: Work {
  private var seen: Set<String>?

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.list(pageToken: ""))
    case .page(let ids, let nextToken)?:
      let page = Set(ids)
      guard page.count == ids.count, !page.contains("") else { return .wrong("a page with an account twice") }
      if let seen { return seen.isDisjoint(with: page) ? .done : .wrong("two pages with one account") }
      if ids.isEmpty { return .wrong("an empty page before all others") }
      seen = page
      return nextToken.isEmpty ? .done : .call(.list(pageToken: nextToken))
    case let answer?: return answer.surprise
    }
  }
}

/// Watches while somebody new signs in, from just before to when it is told.
struct WatchEvents: Work {
  private enum Stage { case beginning, arriving, watching }

  private var stage = Stage.beginning
  private var cursor = ""
  private var accountID = ""

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return .call(.watchEvents(cursor: "now", .first))
    case (.beginning, .event(let event)?):
      guard !event.cursor.isEmpty else { return .wrong("a stream without a cursor") }
      cursor = event.cursor
      stage = .arriving
      return .call(.signIn(.anonymous))
    case (.arriving, .session(let session)?):
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      accountID = session.account.id
      stage = .watching
      return .call(.watchEvents(cursor: cursor, .event(accountID: accountID)))
    case (.watching, .event(let event)?):
      guard event.accountID == accountID else { return .wrong("an event of another account") }
      return event.type == "ACCOUNT_CREATED" ? .done : .wrong("\(event.type) where an account was made")
    case (_, let answer?): return answer.surprise
    }
  }
}

/// Takes over somebody, and takes away again what came along.
struct TakeAway: Work {
  private let row: ImportRow
  private let call: Call
  private let judge: (Answer) -> Step
  private var isImported = false

  private init(_ row: ImportRow, _ call: Call, _ judge: @escaping (Answer) -> Step) {
    self.row = row
    self.call = call
    self.judge = judge
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.importAccounts([row]))
    case .imported(let facts)? where !isImported:
      guard facts.imported == 1 else { return .wrong("an account that was not taken over") }
      isImported = true
      return .call(call)
    case let answer?: return isImported ? judge(answer) : answer.surprise
    }
  }

  /// The telephone that is the second factor.
  static func factor(of row: ImportRow) -> TakeAway {
    TakeAway(row, .removeSecondFactors(accountID: row.accountID)) { answer in
      guard case .factorsRemoved(let count, let account) = answer else { return answer.surprise }
      guard account.id == row.accountID else { return .wrong("another account") }
      return count == 1 && account.factors.isEmpty ? .done : .wrong("an account with what was removed")
    }
  }

  /// The one way in, whose address must stay.
  static func identity(of row: ImportRow) -> TakeAway {
    TakeAway(row, .unlinkProvider(accountID: row.accountID, providerID: ImportRow.providerID)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      guard account.id == row.accountID else { return .wrong("another account") }
      guard account.providerIDs.isEmpty else { return .wrong("an account with what was unlinked") }
      return account.email == row.email ? .done : .wrong("an account without its address")
    }
  }
}

extension SingleCall {
  static func setCustomClaims(_ person: Person, mark: UInt64) -> SingleCall {
    let claims = #"{"load":"\#(mark)"}"#
    return SingleCall(.setCustomClaims(accountID: person.accountID ?? "", json: claims)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      guard account.id == person.accountID else { return .wrong("another account") }
      return account.claimsJSON.contains("\"\(mark)\"") ? .done : .wrong("other claims")
    }
  }

  static func importAccounts(_ rows: [ImportRow]) -> SingleCall {
    SingleCall(.importAccounts(rows)) { answer in
      guard case .imported(let facts) = answer else { return answer.surprise }
      if let reason = facts.reasons.first { return .wrong("a row was refused: \(reason)") }
      return facts.imported == rows.count && facts.unchanged == 0 ? .done : .wrong("a row is missing")
    }
  }

  /// - Parameter accountsMin: there are as many as were made for the run.
  static func exportAccounts(accountsMin: Int) -> SingleCall {
    SingleCall(.exportAccounts) { answer in
      guard case .exported(let accounts, let whole) = answer else { return answer.surprise }
      guard whole == accounts else { return .wrong("an account without an id") }
      return accounts >= accountsMin ? .done : .wrong("an export without all accounts")
    }
  }
}
