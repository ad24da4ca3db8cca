import Store

/// The tables as the first release creates them.
///
/// Uses no triggers, sequences or foreign keys, as in the schema of PostgreSQL. The guards of `Write` keep a dependent
/// row from outliving its account. Timestamps are milliseconds since 1970. A check rejects every value that the program
/// does not know.
enum Schema {
  static let baseline = accounts + credentials + sessions + pendings + deliveries + records + audit

  /// `number` never leaves this file. It is the key of an account's dependents: integer comparisons make a lookup about
  /// a fifth cheaper than comparisons of ids, and the rows of new accounts are adjacent.
  ///
  /// The three counts state which dependent tables need no lookup when an account is read. Most accounts have no rows
  /// there.
  ///
  /// `idle_since` is the time since which an anonymous account is not known to have been used. It is set when the
  /// account is created and when it is checked, so each account is checked once per idle period. Rows of
  /// `closed_accounts` stay permanently, because an id is never assigned twice.
  private static let accounts = """
    CREATE TABLE accounts (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      version INTEGER NOT NULL,
      email TEXT UNIQUE,
      email_verification TEXT
        CONSTRAINT accounts_email_verification CHECK (\(EmailVerificationKind.check("email_verification"))),
      email_verification_provider_id TEXT,
      email_verified_at INTEGER,
      email_source TEXT,
      phone_number TEXT UNIQUE,
      phone_number_set_at INTEGER,
      display_name TEXT NOT NULL,
      photo_url TEXT NOT NULL,
      custom_claims TEXT NOT NULL,
      password_hash TEXT,
      password_set_at INTEGER,
      email_link INTEGER NOT NULL,
      custom_token INTEGER NOT NULL,
      anonymous INTEGER NOT NULL,
      disabled INTEGER NOT NULL,
      made_by_administrator INTEGER NOT NULL,
      tokens_valid_after INTEGER,
      created_at INTEGER NOT NULL,
      last_sign_in_at INTEGER,
      idle_since INTEGER NOT NULL,
      identity_count INTEGER NOT NULL DEFAULT 0,
      factor_count INTEGER NOT NULL DEFAULT 0,
      unlink_count INTEGER NOT NULL DEFAULT 0,
      CONSTRAINT accounts_email_verification_provider CHECK (\(EmailVerificationKind.providerCheck))
    ) STRICT;
    CREATE INDEX accounts_by_idle ON accounts (idle_since) WHERE anonymous = 1;
    CREATE TABLE closed_accounts (
      id TEXT NOT NULL PRIMARY KEY,
      survivor_id TEXT NOT NULL,
      moved_provider_ids TEXT NOT NULL,
      closed_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// Ordered by account, so that one seek finds all rows of an account. The index on email addresses contains only
  /// those that a lookup may find (tier verified and above).
  private static let credentials = """
    CREATE TABLE identities (
      account_number INTEGER NOT NULL,
      provider_id TEXT NOT NULL,
      subject TEXT NOT NULL,
      email TEXT,
      tier INTEGER NOT NULL CONSTRAINT identities_tier CHECK (\(TrustTier.check("tier"))),
      display_name TEXT NOT NULL,
      photo_url TEXT NOT NULL,
      username TEXT NOT NULL,
      linked_at INTEGER NOT NULL,
      PRIMARY KEY (account_number, provider_id, subject),
      UNIQUE (provider_id, subject)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX identities_by_email ON identities (email, linked_at) WHERE tier >= 1;
    CREATE TABLE unlinks (
      account_number INTEGER NOT NULL,
      provider_id TEXT NOT NULL,
      subject TEXT NOT NULL,
      unlinked_at INTEGER NOT NULL,
      PRIMARY KEY (account_number, provider_id, subject)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE factors (
      account_number INTEGER NOT NULL,
      id TEXT NOT NULL,
      kind TEXT NOT NULL CONSTRAINT factors_kind CHECK (\(SchemaValues.check("kind", SchemaValues.firstFactorKinds))),
      display_name TEXT NOT NULL,
      phone_number TEXT,
      sealed_secret BLOB NOT NULL,
      enrolled_at INTEGER NOT NULL,
      PRIMARY KEY (account_number, id)
    ) STRICT, WITHOUT ROWID;
    """

  /// `ends_at` is the earliest of the session's close, idle and absolute end. The index contains its day, so a refresh,
  /// which postpones the end slightly, changes no index page.
  ///
  /// `signed_in_at` is the time of the sign-in that opened the session, if its account does not state it. NULL in
  /// sessions that continue another one, or that belong to a sign-in that changed more of the account. The index that
  /// finds an account's sessions also states its last sign-in. Few sessions are on a named device.
  private static let sessions = """
    CREATE TABLE sessions (
      id TEXT NOT NULL PRIMARY KEY,
      account_id TEXT NOT NULL,
      caller TEXT NOT NULL,
      refresh_digest BLOB NOT NULL,
      parent_digest BLOB,
      rotated_at INTEGER,
      auth_time INTEGER NOT NULL,
      sign_in_provider_id TEXT NOT NULL,
      began_with TEXT NOT NULL,
      methods TEXT NOT NULL,
      second_factor TEXT,
      second_factor_id TEXT,
      audience TEXT NOT NULL,
      claims_json TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER NOT NULL,
      idle_expires_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      closed_at INTEGER,
      closed_reason TEXT
        CONSTRAINT sessions_closed_reason CHECK (\(SessionClosedReason.check("closed_reason"))),
      ip_address TEXT NOT NULL,
      user_agent TEXT NOT NULL,
      device_id TEXT NOT NULL,
      ends_at INTEGER NOT NULL,
      ends_day INTEGER NOT NULL,
      signed_in_at INTEGER,
      CONSTRAINT sessions_end CHECK ((closed_at IS NULL) = (closed_reason IS NULL))
    ) STRICT;
    CREATE INDEX sessions_by_sign_in ON sessions (account_id, signed_in_at);
    CREATE INDEX sessions_by_device ON sessions (account_id, device_id) WHERE device_id <> '';
    CREATE INDEX sessions_by_end_day ON sessions (ends_day);
    """

  /// `pending_counts` holds the row counts of each scope (`CountScope`). Each insert and delete updates them in its
  /// transaction, so a limit costs one lookup. `pending_networks` holds each network's part of a quota.
  private static let pendings = """
    CREATE TABLE pendings (
      digest BLOB NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      purpose TEXT NOT NULL
        CONSTRAINT pendings_purpose CHECK (\(SchemaValues.check("purpose", SchemaValues.firstPendingPurposes))),
      provider_id TEXT NOT NULL,
      subject TEXT NOT NULL,
      email TEXT,
      tier INTEGER NOT NULL CONSTRAINT pendings_tier CHECK (\(TrustTier.check("tier"))),
      account_id TEXT NOT NULL,
      caller TEXT NOT NULL,
      binding BLOB,
      attempt_id TEXT NOT NULL,
      sealed BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      attempts_left INTEGER NOT NULL,
      completed_at INTEGER,
      completed_account_id TEXT,
      completed_session_id TEXT,
      network BLOB
    ) STRICT;
    CREATE INDEX pendings_by_account ON pendings (account_id);
    CREATE INDEX pendings_by_identity ON pendings (subject, provider_id, purpose);
    CREATE INDEX pendings_by_network ON pendings (purpose, caller, coalesce(network, x''), created_at);
    CREATE INDEX pendings_by_expiry ON pendings (expires_at);
    CREATE TABLE pending_counts (
      scope TEXT NOT NULL CONSTRAINT pending_counts_known_scope CHECK (\(CountScope.check("scope"))),
      name TEXT NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (scope, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE pending_networks (
      quota TEXT NOT NULL,
      network BLOB NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (quota, network)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pending_networks_by_held ON pending_networks (quota, held);
    """

  /// Messages are looked up by their class. At most one of equal notices waits. The first row of `deliveries_by_age`
  /// states the age of the queue. Given-up messages keep their row, without content, until `kept_until`.
  private static let deliveries = """
    CREATE TABLE deliveries (
      id TEXT NOT NULL PRIMARY KEY,
      channel TEXT NOT NULL CONSTRAINT deliveries_channel CHECK (\(DeliveryChannel.check("channel"))),
      kind TEXT NOT NULL,
      priority INTEGER NOT NULL CONSTRAINT deliveries_priority CHECK (\(DeliveryPriority.check("priority"))),
      merge_key BLOB,
      sealed BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      next_attempt_at INTEGER NOT NULL,
      buried_at INTEGER,
      buried_reason TEXT,
      kept_until INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deliveries_by_priority ON deliveries (channel, priority, next_attempt_at) WHERE buried_at IS NULL;
    CREATE UNIQUE INDEX deliveries_by_merge_key ON deliveries (merge_key)
      WHERE buried_at IS NULL AND merge_key IS NOT NULL;
    CREATE INDEX deliveries_by_age ON deliveries (created_at) WHERE buried_at IS NULL;
    CREATE INDEX deliveries_by_end ON deliveries (kept_until) WHERE kept_until IS NOT NULL;
    """

  private static let records = """
    CREATE TABLE idempotency (
      key BLOB NOT NULL PRIMARY KEY,
      request BLOB NOT NULL,
      outcome TEXT NOT NULL,
      account_id TEXT NOT NULL,
      session_id TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
    CREATE TABLE spent_tokens (
      digest BLOB NOT NULL PRIMARY KEY,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX spent_tokens_by_expiry ON spent_tokens (expires_at);
    CREATE TABLE throttles (
      key BLOB NOT NULL PRIMARY KEY,
      count INTEGER NOT NULL,
      since INTEGER NOT NULL,
      blocks INTEGER NOT NULL,
      blocked_until INTEGER,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX throttles_by_expiry ON throttles (expires_at);
    CREATE TABLE signing_keys (
      key_id TEXT NOT NULL PRIMARY KEY,
      algorithm TEXT NOT NULL,
      sealed_private_key BLOB NOT NULL,
      published_at INTEGER NOT NULL,
      active_from INTEGER NOT NULL,
      retired_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE import_keys (
      id TEXT NOT NULL PRIMARY KEY,
      sealed_key BLOB NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// Rows are appended and read in commit order. The position is the key, so no other index is needed.
  private static let audit = """
    CREATE TABLE audit (
      position INTEGER NOT NULL PRIMARY KEY,
      id TEXT NOT NULL,
      at INTEGER NOT NULL,
      account_id TEXT NOT NULL,
      event TEXT NOT NULL,
      caller TEXT NOT NULL,
      details TEXT NOT NULL
    ) STRICT;
    """
}
