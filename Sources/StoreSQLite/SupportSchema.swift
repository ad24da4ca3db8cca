extension Schema {
  /// What administrators need to help a user: failures, and the messages to the user of an account.
  ///
  /// The rows of deliveries that an earlier version writes have NULL in the new columns. Failures of no known account
  /// have an empty `account_id`, and are found by their subject.
  static let support = [
    "ALTER TABLE deliveries ADD COLUMN account_id TEXT",
    "ALTER TABLE deliveries ADD COLUMN masked_recipient TEXT",
    "ALTER TABLE deliveries ADD COLUMN last_error TEXT",
    "CREATE INDEX deliveries_by_account ON deliveries (account_id, created_at) WHERE account_id IS NOT NULL",
    """
    CREATE INDEX deliveries_by_content ON deliveries (expires_at) WHERE buried_at IS NOT NULL AND length(sealed) > 0
    """,
    """
    CREATE TABLE sent_messages (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL,
      channel TEXT NOT NULL,
      kind TEXT NOT NULL,
      masked_recipient TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      sent_at INTEGER NOT NULL,
      kept_until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX sent_messages_by_account ON sent_messages (account_id, created_at)",
    "CREATE INDEX sent_messages_by_end ON sent_messages (kept_until)",
    """
    CREATE TABLE failures (
      key BLOB NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL,
      subject BLOB,
      reason TEXT NOT NULL,
      call TEXT NOT NULL,
      method TEXT NOT NULL,
      limit_name TEXT NOT NULL,
      caller TEXT NOT NULL,
      network TEXT NOT NULL,
      device BLOB,
      count INTEGER NOT NULL,
      first_at INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      kept_until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX failures_by_account ON failures (account_id, last_at, key)",
    "CREATE INDEX failures_by_subject ON failures (subject, last_at, key) WHERE subject IS NOT NULL",
    "CREATE INDEX failures_by_end ON failures (kept_until)",
  ]
}
