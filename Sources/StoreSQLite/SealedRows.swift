import Store

// The rows that a rotation of the master key reads and seals again.

extension Writer {
  func noteMasterKey(_ id: MasterKeyID, seals: Bool, _ at: Timestamp) throws(SQLiteError) {
    let record = MasterKeyRecord(id: id.text, knownAt: at, seenAt: at, sealedAt: seals ? at : nil)
    try connection.statement(.noteMasterKey).bind(record).run()
  }

  func seal(_ name: SealedRowName, _ old: [UInt8], _ new: [UInt8]) throws(SQLiteError) {
    switch name {
    case .signingKey(let id):
      try connection.statement(
        "UPDATE signing_keys SET sealed_private_key = ? WHERE key_id = ? AND sealed_private_key = ?"
      ).bind(new).bind(id).bind(old).run()
    case .importKey(let id):
      try connection.statement("UPDATE import_keys SET sealed_key = ? WHERE id = ? AND sealed_key = ?")
        .bind(new).bind(id).bind(old).run()
    case .factor(let id, let accountID):
      try connection.statement(
        """
        UPDATE factors SET sealed_secret = ?
        WHERE account_number = (SELECT number FROM accounts WHERE id = ?) AND id = ? AND sealed_secret = ?
        """
      ).bind(new).bind(accountID).bind(id).bind(old).run()
    case .pending(let digest):
      try connection.statement("UPDATE pendings SET sealed = ? WHERE digest = ? AND sealed = ?")
        .bind(new).bind(digest).bind(old).run()
    case .delivery(let id):
      try connection.statement("UPDATE deliveries SET sealed = ? WHERE id = ? AND sealed = ?")
        .bind(new).bind(id).bind(old).run()
    }
  }
}

extension SealedTable {
  /// Selects a page of the table in the order of its primary key. CROSS JOIN keeps SQLite from reversing the join.
  var page: GeneratedSQL {
    switch self {
    case .signingKeys: .signingKeyPage
    case .importKeys: .importKeyPage
    case .factors: .factorPage
    case .pendings: .pendingPage
    case .deliveries: .deliveryPage
    }
  }

  /// Reads a row of the page, and the cursor behind it.
  func row(_ row: Statement) throws(SQLiteError) -> (SealedRow, SealedCursor) {
    switch self {
    case .signingKeys:
      let key: SigningKeyRecord = try row.record()
      return (.signingKey(key), SealedCursor(id: key.keyID))
    case .importKeys:
      let key: ImportKeyRecord = try row.record()
      return (.importKey(key), SealedCursor(id: key.id))
    case .factors:
      let (number, accountID) = (row.int64(), row.text())
      let factor: FactorRecord = try row.record(ownerID: accountID)
      return (.factor(factor), SealedCursor(owner: "\(number)", id: factor.id))
    case .pendings:
      let pending: PendingRecord = try row.record()
      return (.pending(pending), SealedCursor(digest: pending.digest.bytes))
    case .deliveries:
      let delivery: DeliveryRecord = try row.record()
      return (.delivery(delivery), SealedCursor(id: delivery.id))
    }
  }
}

extension GeneratedSQL {
  static let masterKeys = GeneratedSQL(MasterKeyRecord.select("ORDER BY known_at, id"))
  /// The open sessions of a page with old refresh tokens, and the page's row count and last id.
  static let refreshTokenAges = GeneratedSQL(
    """
    SELECT coalesce(sum(is_old), 0), max(CASE WHEN is_old THEN ends_at END), count(*), max(id) FROM (
      SELECT id, ends_at, closed_at IS NULL AND coalesce(rotated_at, created_at) <= ? AND ends_at > ? AS is_old
      FROM sessions WHERE id > ? ORDER BY id LIMIT ?)
    """)
  fileprivate static let noteMasterKey = GeneratedSQL(
    """
    \(MasterKeyRecord.insert("?"))
    ON CONFLICT (id) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at),
      sealed_at = max(coalesce(sealed_at, excluded.sealed_at), coalesce(excluded.sealed_at, sealed_at))
    """)
  fileprivate static let signingKeyPage = GeneratedSQL(
    SigningKeyRecord.select("WHERE key_id > ? ORDER BY key_id LIMIT ?"))
  fileprivate static let importKeyPage = GeneratedSQL(ImportKeyRecord.select("WHERE id > ? ORDER BY id LIMIT ?"))
  fileprivate static let factorPage = GeneratedSQL(
    """
    SELECT f.account_number, a.id, \(FactorRecord.columns.without("account_id").names(of: "f"))
    FROM factors AS f CROSS JOIN accounts AS a ON a.number = f.account_number
    WHERE (f.account_number, f.id) > (?, ?) ORDER BY f.account_number, f.id LIMIT ?
    """)
  fileprivate static let pendingPage = GeneratedSQL(PendingRecord.select("WHERE digest > ? ORDER BY digest LIMIT ?"))
  fileprivate static let deliveryPage = GeneratedSQL(DeliveryRecord.select("WHERE id > ? ORDER BY id LIMIT ?"))
}
