// Workloads of AdminService and EventService, except those that end sessions.

/// An iteration that lists the first two pages of accounts.
struct ListAccounts: Work {
  private var seen: Set<String>?

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.list(pageToken: ""))
    case .page(let ids, let nextToken)?:
      let page = Set(ids)
      guard page.count == ids.count, !page.contains("") else { return .wrong("a page has the same account twice") }
      if let seen { return seen.isDisjoint(with: page) ? .done : .wrong("two pages have the same account") }
      if ids.isEmpty { return .wrong("the first page is empty") }
      seen = page
      return nextToken.isEmpty ? .done : .call(.list(pageToken: nextToken))
    case let answer?: return answer.surprise
    }
  }
}

/// An iteration that watches events until the server reports the sign-in of a new user.
struct WatchEvents: Work {
  private enum Stage { case beginning, arriving, watching }

  private var stage = Stage.beginning
  private var cursor = ""
  private var accountID = ""

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return .call(.watchEvents(cursor: "now", .first))
    case (.beginning, .event(let event)?):
      guard !event.cursor.isEmpty else { return .wrong("the stream has no cursor") }
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
      return event.type == "ACCOUNT_CREATED" ? .done : .wrong("\(event.type) instead of ACCOUNT_CREATED")
    case (_, let answer?): return answer.surprise
    }
  }
}

/// An iteration that imports an account and removes its second factor or its provider.
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
      guard facts.imported == 1 else { return .wrong("the account was not imported") }
      isImported = true
      return .call(call)
    case let answer?: return isImported ? judge(answer) : answer.surprise
    }
  }

  /// Removes the phone that is the second factor.
  static func factor(of row: ImportRow) -> TakeAway {
    TakeAway(row, .removeSecondFactors(accountID: row.accountID)) { answer in
      guard case .factorsRemoved(let count, let account) = answer else { return answer.surprise }
      guard account.id == row.accountID else { return .wrong("another account") }
      return count == 1 && account.factors.isEmpty ? .done : .wrong("the account still has the removed factor")
    }
  }

  /// Unlinks the only provider. The account must keep its email address.
  static func identity(of row: ImportRow) -> TakeAway {
    TakeAway(row, .unlinkProvider(accountID: row.accountID, providerID: ImportRow.providerID)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      guard account.id == row.accountID else { return .wrong("another account") }
      guard account.providerIDs.isEmpty else { return .wrong("the account still has the unlinked provider") }
      return account.email == row.email ? .done : .wrong("the account lost its email address")
    }
  }
}

extension SingleCall {
  static func setCustomClaims(_ user: LoadUser, mark: UInt64) -> SingleCall {
    let claims = #"{"load":"\#(mark)"}"#
    return SingleCall(.setCustomClaims(accountID: user.accountID ?? "", json: claims)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      guard account.id == user.accountID else { return .wrong("another account") }
      return account.claimsJSON.contains("\"\(mark)\"") ? .done : .wrong("the account has other claims")
    }
  }

  static func importAccounts(_ rows: [ImportRow]) -> SingleCall {
    SingleCall(.importAccounts(rows)) { answer in
      guard case .imported(let facts) = answer else { return answer.surprise }
      if let reason = facts.reasons.first { return .wrong("a row was rejected: \(reason)") }
      return facts.imported == rows.count && facts.unchanged == 0 ? .done : .wrong("a row is missing")
    }
  }

  /// Exports all accounts.
  ///
  /// - Parameter accountsMin: the number of accounts that were created for the run.
  static func exportAccounts(accountsMin: Int) -> SingleCall {
    SingleCall(.exportAccounts) { answer in
      guard case .exported(let accounts, let whole) = answer else { return answer.surprise }
      guard whole == accounts else { return .wrong("an exported account has no ID") }
      return accounts >= accountsMin ? .done : .wrong("the export lacks accounts")
    }
  }
}
