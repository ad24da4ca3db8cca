import Store

/// Removes anonymous accounts that are no longer used (section 3.4). No user can sign in to one again, so it ends with
/// its sessions.
package struct RemoveIdleAccounts: Sendable {
  private let environment: Environment

  /// Maximum number of concurrent changes.
  ///
  /// In PostgreSQL each change waits for the commit of the one before it, on a possibly distant server. It uses
  /// connections that other calls need.
  private static let atOnceMax = 8

  package init(_ environment: Environment) { self.environment = environment }

  /// Checks at most `accountsMax` accounts and returns how many it changed.
  ///
  /// If it changed that many, there may be more. Accounts that it did not change appear again the next time. Throws why
  /// an account could not be removed, after it has tried all of them.
  package func callAsFunction(accountsMax: Int) async throws -> Int {
    let idleMillis = environment.policy.anonymousIdleMillis
    guard idleMillis > 0 else { return 0 }
    let now = environment.clock.now()
    let before = now.adding(millis: -idleMillis)
    var query = Query()
    query.idleAnonymous = IdleQuery(before: before, accountsMax: accountsMax)
    let found = try await environment.load(query).idleAnonymous
    // Concurrent changes share a transaction of SQLite. An account that was used or changed since the load stays.
    let ends = await withTaskGroup(of: Result<Bool, any Error>.self) { group in
      var ends: [Result<Bool, any Error>] = []
      for (index, account) in found.enumerated() {
        if index >= RemoveIdleAccounts.atOnceMax, let end = await group.next() { ends.append(end) }
        let change = IdleDecision.decide(account, before: before, now: now, environment)
        group.addTask { [store = environment.store] in
          do {
            return .success(try await store.commit(change, commitDecision: CommitDecision()) == .committed)
          } catch {
            return .failure(error)
          }
        }
      }
      for await end in group { ends.append(end) }
      return ends
    }
    return try ends.filter { try $0.get() }.count
  }
}

enum IdleDecision {
  /// Decides what to do with one account.
  ///
  /// An account that was used since the last check is checked again a whole period after that use. Any other account is
  /// removed. Its version guards the removal against a link, and its sessions guard it against a refresh.
  static func decide(
    _ account: IdleAccount, before: Timestamp, now: Timestamp, _ environment: Environment
  ) -> Change {
    if let used = account.lastUsedAt, used >= before {
      return Change([.account(.noteIdle(accountID: account.id, since: used))])
    }
    let note = AuditNote(.idleRemoved, accountID: account.id)
    return Change([
      .account(.requireIdle(accountID: account.id, since: before)),
      .account(.close(ClosedAccountRecord(id: account.id, closedAt: now), version: account.version)),
      environment.audit(note, caller: RemoveIdleAccounts.caller, now: now),
    ])
  }
}

extension RemoveIdleAccounts {
  /// Caller name in the audit rows, because no service requested the removal.
  static let caller = CallerName("latchkeyd")
}
