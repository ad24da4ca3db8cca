import Store

// What a rotation of the master key reads and writes.

extension Tables {
  func masterKeyFacts(_ query: MasterKeyQuery) -> MasterKeyFacts {
    switch query {
    case .keys: return .keys(masterKeys.values.sorted { ($0.knownAt, $0.id) < ($1.knownAt, $1.id) })
    case .rows(let table, let after, let rowsMax):
      let rows = rows(of: table).filter { ($0.order) > (after?.id ?? "") }.sorted { $0.order < $1.order }
      let page = Array(rows.prefix(rowsMax))
      return .rows(page, next: page.count < rowsMax ? nil : page.last.map { SealedCursor(id: $0.order) })
    case .refreshTokens(let afterID, let rowsMax, let issuedBy, let at):
      let page = sessions.values.filter { $0.id > afterID }.sorted { $0.id < $1.id }.prefix(rowsMax)
      let old = page.filter {
        $0.closed == nil && ($0.rotatedAt ?? $0.createdAt) <= issuedBy && min($0.idleExpiresAt, $0.expiresAt) > at
      }
      return .refreshTokens(
        RefreshTokenAges(
          count: old.count, lastEnd: old.map { min($0.idleExpiresAt, $0.expiresAt) }.max(),
          nextID: page.count < rowsMax ? nil : page.last?.id))
    }
  }

  private func rows(of table: SealedTable) -> [SealedRow] {
    switch table {
    case .signingKeys: signingKeys.map(SealedRow.signingKey)
    case .importKeys: importKeys.values.map(SealedRow.importKey)
    case .factors: factors.map(SealedRow.factor)
    case .pendings: pendings.values.map(SealedRow.pending)
    case .deliveries: deliveries.map(SealedRow.delivery)
    }
  }

  mutating func noteMasterKey(_ id: MasterKeyID, seals: Bool, _ at: Timestamp) {
    var record = masterKeys[id.text] ?? MasterKeyRecord(id: id.text, knownAt: at, seenAt: at)
    record.seenAt = max(record.seenAt, at)
    if seals { record.sealedAt = max(record.sealedAt ?? at, at) }
    masterKeys[id.text] = record
  }

  mutating func seal(_ name: SealedRowName, _ old: [UInt8], _ new: [UInt8]) {
    func replace(_ sealed: inout [UInt8]) { if sealed == old { sealed = new } }
    switch name {
    case .signingKey(let id): for index in signingKeys.indices where signingKeys[index].keyID == id {
      replace(&signingKeys[index].sealedPrivateKey)
    }
    case .importKey(let id): if importKeys[id] != nil { replace(&importKeys[id]!.sealedKey) }
    case .factor(let id, let accountID):
      for index in factors.indices where factors[index].id == id && factors[index].accountID == accountID {
        replace(&factors[index].sealedSecret)
      }
    case .pending(let digest): if pendings[digest] != nil { replace(&pendings[digest]!.sealed) }
    case .delivery(let id): for index in deliveries.indices where deliveries[index].id == id {
      replace(&deliveries[index].sealed)
    }
    }
  }
}

extension SealedRow {
  fileprivate var order: String {
    switch name {
    case .signingKey(let id), .importKey(let id), .delivery(let id): id
    case .factor(let id, let accountID): "\(accountID) \(id)"
    case .pending(let digest): "\(digest.bytes)"
    }
  }
}
