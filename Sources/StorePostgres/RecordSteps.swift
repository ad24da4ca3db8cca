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
  static let keepImportKey = Statement(
    "keep_import_key", "\(ImportKeyRecord.insert("$")) ON CONFLICT (id) DO NOTHING")

  static let ofRecords = [
    deleteExpiredIdempotency, insertIdempotency, spendToken, insertSigningKey, lockSchema, guardNoSigningKey,
    retireSigningKey, deleteSigningKeys, keepImportKey,
  ]
}
