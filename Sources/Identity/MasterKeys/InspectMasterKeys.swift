package import Store

/// Reads every row that depends on a master key, in small pages, and reports how each key is used.
package struct InspectMasterKeys: Sendable {
  private static let rowsPerPage = 1_000

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the keys of this server in order, then those that it does not have.
  package func callAsFunction() async throws -> [MasterKeyStatus] {
    let records = try await records()
    var rows: [MasterKeyID: [SealedTable: Int]] = [:]
    for table in SealedTable.allCases {
      try await environment.eachPage(of: table, rowsMax: InspectMasterKeys.rowsPerPage) { page in
        for row in page where !row.sealed.isEmpty {
          rows[MasterKeyID(bytes: row.sealed), default: [:]][table, default: 0] += 1
        }
      }
    }
    let ours = environment.cryptography.masterKeyIDs
    let others = Set(rows.keys).union(records.keys).subtracting(ours).sorted()
    var statuses: [MasterKeyStatus] = []
    for (index, id) in (ours + others).enumerated() {
      var facts = MasterKeyStatus.Facts(id: id, position: index < ours.count ? index : nil, record: records[id])
      facts.rows = rows[id] ?? [:]
      facts.refreshTokens = try await refreshTokens(facts)
      statuses.append(MasterKeyStatus.decide(facts, environment.policy, now: environment.clock.now()))
    }
    return statuses
  }

  package func records() async throws -> [MasterKeyID: MasterKeyRecord] {
    guard case .keys(let records)? = try await environment.masterKeyFacts(.keys) else { return [:] }
    return Dictionary(records.map { (MasterKeyID(text: $0.id), $0) }) { first, _ in first }
  }

  /// Returns the age of the refresh tokens that may have a tag of a key which has sealed before.
  private func refreshTokens(_ facts: MasterKeyStatus.Facts) async throws -> RefreshTokenAges {
    var sum = RefreshTokenAges()
    let now = environment.clock.now()
    guard let position = facts.position, position > 0, let sealedAt = facts.record?.sealedAt,
      now >= sealedAt.adding(millis: MasterKeyTimes.quietMillis)
    else { return sum }
    let issuedBy = sealedAt.adding(millis: MasterKeyTimes.uncertainMillis)
    var afterID: String? = ""
    while let id = afterID {
      try Task.checkCancellation()
      let page = try await environment.masterKeyFacts(
        .refreshTokens(afterID: id, rowsMax: InspectMasterKeys.rowsPerPage, issuedBy: issuedBy, at: now))
      guard case .refreshTokens(let ages)? = page else { break }
      sum.count += ages.count
      if let end = ages.lastEnd { sum.lastEnd = max(sum.lastEnd ?? end, end) }
      afterID = ages.nextID
    }
    return sum
  }
}

extension Environment {
  /// Reads a table in pages. `use` receives each page.
  func eachPage(of table: SealedTable, rowsMax: Int, _ use: ([SealedRow]) async throws -> Void) async throws {
    var cursor: SealedCursor?
    repeat {
      try Task.checkCancellation()
      let page = try await masterKeyFacts(.rows(table, after: cursor, rowsMax: rowsMax))
      guard case .rows(let rows, let next)? = page else { return }
      try await use(rows)
      cursor = next
    } while cursor != nil
  }
}
