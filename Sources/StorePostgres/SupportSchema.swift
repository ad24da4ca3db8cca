extension Schema {
  /// What administrators need to help a user: failures, and the messages to the user of an account.
  ///
  /// The rows of deliveries that an earlier version writes have NULL in the new columns. Failures of no known account
  /// have an empty `account_id`, and are found by their subject.
  static let support = [
    "ALTER TABLE deliveries ADD COLUMN account_id TEXT COLLATE \"C\"",
    "ALTER TABLE deliveries ADD COLUMN masked_recipient TEXT COLLATE \"C\"",
    "ALTER TABLE deliveries ADD COLUMN last_error TEXT COLLATE \"C\"",
    "CREATE INDEX deliveries_by_account ON deliveries (account_id, created_at) WHERE account_id IS NOT NULL",
    """
    CREATE INDEX deliveries_by_content ON deliveries (expires_at) WHERE buried_at IS NOT NULL AND sealed <> ''
    """,
    """
    CREATE TABLE sent_messages (
      id TEXT COLLATE "C" NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      channel TEXT COLLATE "C" NOT NULL,
      kind TEXT COLLATE "C" NOT NULL,
      masked_recipient TEXT COLLATE "C" NOT NULL,
      created_at BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      sent_at BIGINT NOT NULL,
      kept_until BIGINT NOT NULL,
      CONSTRAINT sent_messages_id PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX sent_messages_by_account ON sent_messages (account_id, created_at)",
    "CREATE INDEX sent_messages_by_end ON sent_messages (kept_until)",
    """
    CREATE TABLE failures (
      key BYTEA NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      subject BYTEA,
      reason TEXT COLLATE "C" NOT NULL,
      call TEXT COLLATE "C" NOT NULL,
      method TEXT COLLATE "C" NOT NULL,
      limit_name TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      network TEXT COLLATE "C" NOT NULL,
      device BYTEA,
      count BIGINT NOT NULL,
      first_at BIGINT NOT NULL,
      last_at BIGINT NOT NULL,
      kept_until BIGINT NOT NULL,
      CONSTRAINT failures_key PRIMARY KEY (key)
    )
    """,
    "CREATE INDEX failures_by_account ON failures (account_id, last_at, key)",
    "CREATE INDEX failures_by_subject ON failures (subject, last_at, key) WHERE subject IS NOT NULL",
    "CREATE INDEX failures_by_end ON failures (kept_until)",
  ]
}
