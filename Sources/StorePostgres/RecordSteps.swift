import Store

extension Script {
  func add(_ write: RecordWrite) {
    switch write {
    case .insertIdempotency(let record):
      add(.deleteExpiredIdempotency) { $0.bind(record.key).bind(record.createdAt) }
      add(.insertIdempotency) { $0.bind(record) }
    case .spendToken(let digest, let expiresAt): add(.spendToken) { $0.bind(digest).bind(expiresAt) }
    case .appendAudit(let record): append(record)
    case .keepImportKey(let key): add(.keepImportKey) { $0.bind(key) }
    case .noteMasterKey(let id, let seals, let at):
      let record = MasterKeyRecord(id: id.text, knownAt: at, seenAt: at, sealedAt: seals ? at : nil)
      add(.noteMasterKey) { $0.bind(record) }
    case .seal(let name, let old, let new): seal(name, old, new)
    }
  }

  func add(_ write: SigningKeyWrite) {
    switch write {
    case .insert(let key): add(.insertSigningKey) { $0.bind(key) }
    case .requireNone:
      // Without a key there is no row to lock. Replicas that create the first key wait for each other at the one row
      // that every schema has.
      add(.lockSchema)
      add(.guardNoSigningKey, refusing: .stale)
    case .retire(let keyID, let at): add(.retireSigningKey, refusing: .stale) { $0.bind(keyID).bind(at) }
    case .delete(let retiredBy): add(.deleteSigningKeys) { $0.bind(retiredBy) }
    case .confirm(let key):
      add(.confirmSigningKey, refusing: .stale) { $0.bind(key.keyID).bind(key.activeFrom).bind(key.retiredAt) }
    case .reschedule(let keyID, let activeFrom, let retiredAt):
      add(.rescheduleSigningKey, refusing: .stale) { $0.bind(keyID).bind(activeFrom).bind(retiredAt) }
    case .revoke(let keyID): add(.revokeSigningKey, refusing: .stale) { $0.bind(keyID) }
    }
  }
}

extension Statement {
  static let deleteExpiredIdempotency = Statement(
    "delete_expired_idempotency", "DELETE FROM idempotency WHERE key = $1 AND expires_at <= $2")
  static let insertIdempotency = Statement("insert_idempotency", IdempotencyRecord.insert("$"))
  static let spendToken = Statement(
    "spend_token", "INSERT INTO spent_tokens (digest, expires_at) VALUES ($1, $2)")
  static let insertSigningKey = Statement("insert_signing_key", SigningKeyRecord.insert("$"))
  static let lockSchema = Statement("lock_schema", "SELECT version FROM schema_version WHERE id = 1 FOR UPDATE")
  static let guardNoSigningKey = Statement(
    "guard_no_signing_key",
    "SELECT 1 / (1 - count(*)) FROM (SELECT 1 FROM signing_keys WHERE retired_at IS NULL LIMIT 1) AS found")
  static let retireSigningKey = guarding(
    "retire_signing_key",
    "UPDATE signing_keys SET retired_at = $2 WHERE key_id = $1 AND retired_at IS NULL RETURNING 1")
  static let deleteSigningKeys = Statement("delete_signing_keys", "DELETE FROM signing_keys WHERE retired_at <= $1")
  static let confirmSigningKey = guarding(
    "confirm_signing_key",
    """
    SELECT 1 FROM signing_keys
      WHERE key_id = $1 AND active_from = $2 AND retired_at IS NOT DISTINCT FROM $3 FOR UPDATE
    """)
  static let rescheduleSigningKey = guarding(
    "reschedule_signing_key",
    "UPDATE signing_keys SET active_from = $2, retired_at = $3 WHERE key_id = $1 RETURNING 1")
  static let revokeSigningKey = guarding(
    "revoke_signing_key", "DELETE FROM signing_keys WHERE key_id = $1 RETURNING 1")
  static let keepImportKey = Statement(
    "keep_import_key", "\(ImportKeyRecord.insert("$")) ON CONFLICT (id) DO NOTHING")

  static let ofRecords = [
    deleteExpiredIdempotency, insertIdempotency, spendToken, insertSigningKey, lockSchema, guardNoSigningKey,
    retireSigningKey, deleteSigningKeys, confirmSigningKey, rescheduleSigningKey, revokeSigningKey, keepImportKey,
  ]
}
