package import Store

/// Seals rows under the first master key that are sealed under others, in small portions.
///
/// Each row is replaced only if it still has the bytes that were read, so a concurrent write is never undone. A kill
/// leaves each row sealed under one key or the other. Several servers may do this at the same time: the second write of
/// a row has no effect.
package struct SealAgain: Sendable {
  package struct Progress: Hashable, Sendable {
    package var sealedRows = 0
    /// Rows that do not open under the key that they name.
    package var unopenedRows = 0

    package init() {}
  }

  /// Few enough rows for other changes to come between.
  private static let rowsPerPortion = 100

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// - Parameters:
  ///   - keys: the master keys whose rows are sealed again.
  ///   - rest: called after each portion that wrote rows, before the next.
  package func callAsFunction(
    of keys: Set<MasterKeyID>, rest: (Progress) async throws -> Void
  ) async throws -> Progress {
    var progress = Progress()
    for table in SealedTable.allCases {
      try await environment.eachPage(of: table, rowsMax: SealAgain.rowsPerPortion) { page in
        let old = page.filter { keys.contains(MasterKeyID(bytes: $0.sealed)) }
        let writes = old.compactMap(environment.sealingAgain)
        progress.unopenedRows += old.count - writes.count
        guard !writes.isEmpty else { return }
        _ = try await environment.commit(Change(writes), CommitDecision())
        progress.sealedRows += writes.count
        try await rest(progress)
      }
    }
    return progress
  }
}

/// Records which master keys this server has, and which one seals.
package struct NoteMasterKeys: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction() async throws {
    let now = environment.clock.now()
    let writes = environment.cryptography.masterKeyIDs.enumerated().map { index, id in
      Write.record(.noteMasterKey(id, seals: index == 0, at: now))
    }
    // All servers write these rows. A common order keeps them from waiting for each other in a circle.
    let ordered = zip(environment.cryptography.masterKeyIDs, writes).sorted { $0.0 < $1.0 }.map(\.1)
    _ = try await environment.commit(Change(ordered), CommitDecision())
  }
}
