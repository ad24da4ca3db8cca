import Store

/// Removes anonymous accounts that nobody uses any more (section 3.4): nobody can sign in to one again, so that it ends
/// with its sessions.
package struct RemoveIdleAccounts: Sendable {
  private let environment: Environment

  /// In PostgreSQL each waits for the commit of the one before it, which may be far away, on connections that others
  /// want too.
  private static let atOnceMax = 8

  package init(_ environment: Environment) { self.environment = environment }

  /// Looks at `accountsMax` at most, and returns of how many something became: as long as it is so many, there may be
  /// more. Those of which nothing did are there again the next time. Throws why one could not be removed, once all had
  /// their turn.
  package func callAsFunction(accountsMax: Int) async throws -> Int {
    let idleMillis = environment.policy.anonymousIdleMillis
    guard idleMillis > 0 else { return 0 }
    let now = environment.clock.now()
    let before = now.adding(millis: -idleMillis)
    var query = Query()
    query.idleAnonymous = IdleQuery(before: before, accountsMax: accountsMax)
    let found = try await environment.load(query).idleAnonymous
    // Some side by side, so that they share a transaction of SQLite. One that was used or changed meanwhile stays.
    let ends = await withTaskGroup(of: Result<Bool, any Error>.self) { group in
      var ends: [Result<Bool, any Error>] = []
      for (index, account) in found.enumerated() {
        if index >= RemoveIdleAccounts.atOnceMax, let end = await group.next() { ends.append(end) }
        let change = IdleDecision.decide(account, before: before, now: now, environment)
        group.addTask { [store = environment.store] in
          do {
            return .success(try await store.commit(change, fate: Fate()) == .committed)
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
  /// Used since it was last looked at: looked at again a whole period after that use. Otherwise it goes, guarded by its
  /// version against a link and by its sessions against a refresh.
  static func decide(
    _ account: IdleAccount, before: Timestamp, now: Timestamp, _ environment: Environment
  ) -> Change {
    if let used = account.lastUsedAt, used >= before {
      return Change([.noteIdle(accountID: account.id, since: used)])
    }
    let note = AuditNote(.idleRemoved, accountID: account.id)
    return Change([
      .guardIdle(accountID: account.id, since: before),
      .closeAccount(ClosedAccountRecord(id: account.id, closedAt: now), version: account.version),
      environment.audit(note, caller: RemoveIdleAccounts.caller, now: now),
    ])
  }
}

extension RemoveIdleAccounts {
  /// What its audit rows name: no service asked for it.
  static let caller = CallerName("latchkeyd")
}
