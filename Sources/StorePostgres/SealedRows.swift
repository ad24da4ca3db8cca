import Store

// The rows that a rotation of the master key reads and seals again.

extension Script {
  func seal(_ name: SealedRowName, _ old: [UInt8], _ new: [UInt8]) {
    switch name {
    case .signingKey(let id): add(.sealSigningKey) { $0.bind(id).bind(old).bind(new) }
    case .importKey(let id): add(.sealImportKey) { $0.bind(id).bind(old).bind(new) }
    case .factor(let id, let accountID): add(.sealFactor) { $0.bind(id).bind(old).bind(new).bind(accountID) }
    case .pending(let digest): add(.sealPending) { $0.bind(digest).bind(old).bind(new) }
    case .delivery(let id): add(.sealDelivery) { $0.bind(id).bind(old).bind(new) }
    }
  }
}

extension SealedTable {
  /// The statement for the page after a row.
  func page(after cursor: SealedCursor?, rowsMax: Int) -> BoundStatement {
    let cursor = cursor ?? SealedCursor()
    return switch self {
    case .signingKeys: BoundStatement(.signingKeyPage).bind(cursor.id).bind(rowsMax)
    case .importKeys: BoundStatement(.importKeyPage).bind(cursor.id).bind(rowsMax)
    case .factors: BoundStatement(.factorPage).bind(cursor.owner).bind(cursor.id).bind(rowsMax)
    case .pendings: BoundStatement(.pendingPage).bind(cursor.digest).bind(rowsMax)
    case .deliveries: BoundStatement(.deliveryPage).bind(cursor.id).bind(rowsMax)
    }
  }

  /// Reads a row of the page, and the cursor behind it.
  func row(_ row: QueryResult) throws(RequestError) -> (SealedRow, SealedCursor) {
    switch self {
    case .signingKeys:
      let key: SigningKeyRecord = try row.record()
      return (.signingKey(key), SealedCursor(id: key.keyID))
    case .importKeys:
      let key: ImportKeyRecord = try row.record()
      return (.importKey(key), SealedCursor(id: key.id))
    case .factors:
      let accountID = row.text()
      let factor: FactorRecord = try row.record(ownerID: accountID)
      return (.factor(factor), SealedCursor(owner: accountID, id: factor.id))
    case .pendings:
      let pending: PendingRecord = try row.record()
      return (.pending(pending), SealedCursor(digest: pending.digest.bytes))
    case .deliveries:
      let delivery: DeliveryRecord = try row.record()
      return (.delivery(delivery), SealedCursor(id: delivery.id))
    }
  }
}

extension Statement {
  static let masterKeys = Statement("master_keys", MasterKeyRecord.select("ORDER BY known_at, id"))
  static let noteMasterKey = Statement(
    "note_master_key",
    """
    INSERT INTO master_keys AS k (\(MasterKeyRecord.columns.names))
    VALUES (\(MasterKeyRecord.columns.placeholders("$")))
    ON CONFLICT (id) DO UPDATE SET seen_at = greatest(k.seen_at, excluded.seen_at),
      sealed_at = greatest(k.sealed_at, excluded.sealed_at)
    """)
  /// The open sessions of a page with old refresh tokens, and the page's row count and last id.
  static let refreshTokenAges = Statement(
    "refresh_token_ages",
    """
    SELECT count(*) FILTER (WHERE is_old), max(ends_at) FILTER (WHERE is_old), count(*), max(id) FROM (
      SELECT id, ends_at, closed_at IS NULL AND coalesce(rotated_at, created_at) <= $3 AND ends_at > $4 AS is_old
      FROM sessions WHERE id > $1 ORDER BY id LIMIT $2) AS page
    """)

  fileprivate static let signingKeyPage = Statement(
    "signing_key_page", SigningKeyRecord.select("WHERE key_id > $1 ORDER BY key_id LIMIT $2"))
  fileprivate static let importKeyPage = Statement(
    "import_key_page", ImportKeyRecord.select("WHERE id > $1 ORDER BY id LIMIT $2"))
  fileprivate static let factorPage = Statement(
    "factor_page",
    """
    SELECT account_id, \(FactorRecord.columns.without("account_id").names) FROM factors
    WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT $3
    """)
  fileprivate static let pendingPage = Statement(
    "pending_page", PendingRecord.select("WHERE digest > $1 ORDER BY digest LIMIT $2"))
  fileprivate static let deliveryPage = Statement(
    "delivery_page", DeliveryRecord.select("WHERE id > $1 ORDER BY id LIMIT $2"))

  fileprivate static let sealSigningKey = Statement(
    "seal_signing_key",
    "UPDATE signing_keys SET sealed_private_key = $3 WHERE key_id = $1 AND sealed_private_key = $2")
  fileprivate static let sealImportKey = Statement(
    "seal_import_key", "UPDATE import_keys SET sealed_key = $3 WHERE id = $1 AND sealed_key = $2")
  fileprivate static let sealFactor = Statement(
    "seal_factor",
    "UPDATE factors SET sealed_secret = $3 WHERE account_id = $4 AND id = $1 AND sealed_secret = $2")
  fileprivate static let sealPending = Statement(
    "seal_pending", "UPDATE pendings SET sealed = $3 WHERE digest = $1 AND sealed = $2")
  fileprivate static let sealDelivery = Statement(
    "seal_delivery", "UPDATE deliveries SET sealed = $3 WHERE id = $1 AND sealed = $2")

  static let ofMasterKeys = [
    masterKeys, noteMasterKey, refreshTokenAges, signingKeyPage, importKeyPage, factorPage, pendingPage, deliveryPage,
    sealSigningKey, sealImportKey, sealFactor, sealPending, sealDelivery,
  ]
}
