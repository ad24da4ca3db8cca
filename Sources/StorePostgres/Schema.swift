import Store

/// The tables as the first release creates them.
///
/// Uses no sequences, triggers, functions, advisory locks or foreign keys, because distributed relatives of PostgreSQL
/// lack some of them. (CockroachDB also rejects `COLLATE "C"`, so it cannot hold these tables.) Integers have eight
/// bytes, timestamps are milliseconds since 1970, texts are ordered bytewise. The constraints that reject a row have
/// names, which identify them. A check rejects every value that the program does not know.
enum Schema {
  static let baseline = accounts + credentials + sessions + pendings + deliveries + records + audit + changes

  /// `idle_since` is the time since which an anonymous account is not known to have been used. Rows of
  /// `closed_accounts` stay permanently, because an id is never assigned twice.
  private static let accounts = [
    """
    CREATE TABLE accounts (
      id TEXT COLLATE "C" NOT NULL,
      version BIGINT NOT NULL,
      email TEXT COLLATE "C",
      email_verification TEXT COLLATE "C"
        CONSTRAINT accounts_email_verification CHECK (\(EmailVerificationKind.check("email_verification"))),
      email_verification_provider_id TEXT COLLATE "C",
      email_verified_at BIGINT,
      email_source TEXT COLLATE "C",
      phone_number TEXT COLLATE "C",
      phone_number_set_at BIGINT,
      display_name TEXT COLLATE "C" NOT NULL,
      photo_url TEXT COLLATE "C" NOT NULL,
      custom_claims TEXT COLLATE "C" NOT NULL,
      password_hash TEXT COLLATE "C",
      password_set_at BIGINT,
      email_link BOOLEAN NOT NULL,
      custom_token BOOLEAN NOT NULL,
      anonymous BOOLEAN NOT NULL,
      disabled BOOLEAN NOT NULL,
      made_by_administrator BOOLEAN NOT NULL,
      tokens_valid_after BIGINT,
      created_at BIGINT NOT NULL,
      last_sign_in_at BIGINT,
      idle_since BIGINT NOT NULL,
      CONSTRAINT accounts_email_verification_provider CHECK (\(EmailVerificationKind.providerCheck)),
      CONSTRAINT accounts_id PRIMARY KEY (id),
      CONSTRAINT accounts_email UNIQUE (email),
      CONSTRAINT accounts_phone_number UNIQUE (phone_number)
    )
    """,
    "CREATE INDEX accounts_by_idle ON accounts (idle_since) WHERE anonymous",
    """
    CREATE TABLE closed_accounts (
      id TEXT COLLATE "C" NOT NULL,
      survivor_id TEXT COLLATE "C" NOT NULL,
      moved_provider_ids TEXT COLLATE "C" NOT NULL,
      closed_at BIGINT NOT NULL,
      CONSTRAINT closed_accounts_id PRIMARY KEY (id)
    )
    """,
  ]

  /// Their keys begin with the account, by which a distributed database partitions tables.
  private static let credentials = [
    """
    CREATE TABLE identities (
      account_id TEXT COLLATE "C" NOT NULL,
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      email TEXT COLLATE "C",
      tier BIGINT NOT NULL CONSTRAINT identities_tier CHECK (\(TrustTier.check("tier"))),
      display_name TEXT COLLATE "C" NOT NULL,
      photo_url TEXT COLLATE "C" NOT NULL,
      username TEXT COLLATE "C" NOT NULL,
      linked_at BIGINT NOT NULL,
      CONSTRAINT identities_of_account PRIMARY KEY (account_id, provider_id, subject),
      CONSTRAINT identities_key UNIQUE (provider_id, subject)
    )
    """,
    "CREATE INDEX identities_by_email ON identities (email, linked_at) WHERE tier >= 1",
    """
    CREATE TABLE unlinks (
      account_id TEXT COLLATE "C" NOT NULL,
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      unlinked_at BIGINT NOT NULL,
      CONSTRAINT unlinks_of_account PRIMARY KEY (account_id, provider_id, subject)
    )
    """,
    """
    CREATE TABLE factors (
      account_id TEXT COLLATE "C" NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      kind TEXT COLLATE "C" NOT NULL
        CONSTRAINT factors_kind CHECK (\(SchemaValues.check("kind", SchemaValues.firstFactorKinds))),
      display_name TEXT COLLATE "C" NOT NULL,
      phone_number TEXT COLLATE "C",
      sealed_secret BYTEA NOT NULL,
      enrolled_at BIGINT NOT NULL,
      CONSTRAINT factors_of_account PRIMARY KEY (account_id, id)
    )
    """,
  ]

  /// `ends_at` is when the session ends, for any reason. The index contains its day, so a refresh, which postpones the
  /// end slightly, changes no index and writes only its own page.
  ///
  /// Days are counted from 1970. The day of the absolute end is stored, so that a refresh need not divide.
  private static let sessions = [
    """
    CREATE TABLE sessions (
      id TEXT COLLATE "C" NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      refresh_digest BYTEA NOT NULL,
      parent_digest BYTEA,
      rotated_at BIGINT,
      auth_time BIGINT NOT NULL,
      sign_in_provider_id TEXT COLLATE "C" NOT NULL,
      began_with TEXT COLLATE "C" NOT NULL,
      methods TEXT COLLATE "C" NOT NULL,
      second_factor TEXT COLLATE "C",
      second_factor_id TEXT COLLATE "C",
      audience TEXT COLLATE "C" NOT NULL,
      claims_json TEXT COLLATE "C" NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT NOT NULL,
      idle_expires_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      closed_at BIGINT,
      closed_reason TEXT COLLATE "C"
        CONSTRAINT sessions_closed_reason CHECK (\(SessionClosedReason.check("closed_reason"))),
      ip_address TEXT COLLATE "C" NOT NULL,
      user_agent TEXT COLLATE "C" NOT NULL,
      device_id TEXT COLLATE "C" NOT NULL,
      expires_day BIGINT NOT NULL,
      ends_at BIGINT NOT NULL,
      ends_day BIGINT NOT NULL,
      CONSTRAINT sessions_end CHECK ((closed_at IS NULL) = (closed_reason IS NULL)),
      CONSTRAINT sessions_id PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX sessions_by_account ON sessions (account_id, device_id)",
    "CREATE INDEX sessions_by_end_day ON sessions (ends_day)",
  ]

  /// `pending_counts` holds the row counts of each scope (`CountScope`). The row of the total exists from the
  /// beginning, because every transaction that changes pending rows locks it first. `pending_networks` holds each
  /// network's part of a quota.
  private static let pendings = [
    """
    CREATE TABLE pendings (
      digest BYTEA NOT NULL,
      version BIGINT NOT NULL,
      purpose TEXT COLLATE "C" NOT NULL
        CONSTRAINT pendings_purpose CHECK (\(SchemaValues.check("purpose", SchemaValues.firstPendingPurposes))),
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      email TEXT COLLATE "C",
      tier BIGINT NOT NULL CONSTRAINT pendings_tier CHECK (\(TrustTier.check("tier"))),
      account_id TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      binding BYTEA,
      attempt_id TEXT COLLATE "C" NOT NULL,
      sealed BYTEA NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      attempts_left BIGINT NOT NULL,
      completed_at BIGINT,
      completed_account_id TEXT COLLATE "C",
      completed_session_id TEXT COLLATE "C",
      network BYTEA,
      CONSTRAINT pendings_digest PRIMARY KEY (digest)
    )
    """,
    "CREATE INDEX pendings_by_account ON pendings (account_id)",
    "CREATE INDEX pendings_by_identity ON pendings (subject, provider_id, purpose)",
    "CREATE INDEX pendings_by_network ON pendings (purpose, caller, coalesce(network, ''), created_at)",
    "CREATE INDEX pendings_by_expiry ON pendings (expires_at)",
    """
    CREATE TABLE pending_counts (
      scope TEXT COLLATE "C" NOT NULL
        CONSTRAINT pending_counts_known_scope CHECK (\(CountScope.check("scope"))),
      name TEXT COLLATE "C" NOT NULL,
      held BIGINT NOT NULL,
      CONSTRAINT pending_counts_scope PRIMARY KEY (scope, name)
    )
    """,
    "INSERT INTO pending_counts (scope, name, held) VALUES (\(CountScope.total.literal), '', 0)",
    """
    CREATE TABLE pending_networks (
      quota TEXT COLLATE "C" NOT NULL,
      network BYTEA NOT NULL,
      held BIGINT NOT NULL,
      CONSTRAINT pending_networks_quota PRIMARY KEY (quota, network)
    )
    """,
    "CREATE INDEX pending_networks_by_held ON pending_networks (quota, held)",
  ]

  /// Messages are looked up by their class. At most one of equal notices waits. Given-up messages keep their row,
  /// without content, until `kept_until`.
  private static let deliveries = [
    """
    CREATE TABLE deliveries (
      id TEXT COLLATE "C" NOT NULL,
      channel TEXT COLLATE "C" NOT NULL
        CONSTRAINT deliveries_channel CHECK (\(DeliveryChannel.check("channel"))),
      kind TEXT COLLATE "C" NOT NULL,
      priority BIGINT NOT NULL CONSTRAINT deliveries_priority CHECK (\(DeliveryPriority.check("priority"))),
      merge_key BYTEA,
      sealed BYTEA NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      next_attempt_at BIGINT NOT NULL,
      buried_at BIGINT,
      buried_reason TEXT COLLATE "C",
      kept_until BIGINT,
      CONSTRAINT deliveries_id PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX deliveries_by_priority ON deliveries (channel, priority, next_attempt_at) WHERE buried_at IS NULL",
    """
    CREATE UNIQUE INDEX deliveries_by_merge_key ON deliveries (merge_key)
      WHERE buried_at IS NULL AND merge_key IS NOT NULL
    """,
    "CREATE INDEX deliveries_by_age ON deliveries (created_at) WHERE buried_at IS NULL",
    "CREATE INDEX deliveries_by_end ON deliveries (kept_until) WHERE kept_until IS NOT NULL",
  ]

  private static let records = [
    """
    CREATE TABLE idempotency (
      key BYTEA NOT NULL,
      request BYTEA NOT NULL,
      outcome TEXT COLLATE "C" NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      session_id TEXT COLLATE "C",
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      CONSTRAINT idempotency_key PRIMARY KEY (key)
    )
    """,
    "CREATE INDEX idempotency_by_expiry ON idempotency (expires_at)",
    """
    CREATE TABLE spent_tokens (
      digest BYTEA NOT NULL,
      expires_at BIGINT NOT NULL,
      CONSTRAINT spent_tokens_digest PRIMARY KEY (digest)
    )
    """,
    "CREATE INDEX spent_tokens_by_expiry ON spent_tokens (expires_at)",
    """
    CREATE TABLE throttles (
      key BYTEA NOT NULL,
      count BIGINT NOT NULL,
      since BIGINT NOT NULL,
      blocks BIGINT NOT NULL,
      blocked_until BIGINT,
      expires_at BIGINT NOT NULL,
      CONSTRAINT throttles_key PRIMARY KEY (key)
    )
    """,
    "CREATE INDEX throttles_by_expiry ON throttles (expires_at)",
    """
    CREATE TABLE signing_keys (
      key_id TEXT COLLATE "C" NOT NULL,
      algorithm TEXT COLLATE "C" NOT NULL,
      sealed_private_key BYTEA NOT NULL,
      published_at BIGINT NOT NULL,
      active_from BIGINT NOT NULL,
      retired_at BIGINT,
      CONSTRAINT signing_keys_key_id PRIMARY KEY (key_id)
    )
    """,
    """
    CREATE TABLE import_keys (
      id TEXT COLLATE "C" NOT NULL,
      sealed_key BYTEA NOT NULL,
      created_at BIGINT NOT NULL,
      CONSTRAINT import_keys_id PRIMARY KEY (id)
    )
    """,
  ]

  /// A change appends to `audit_unplaced`. The process that locks the one row of `audit_position` moves rows to `audit`
  /// and assigns their positions, ordered by `written_at` (microseconds) and `ordinal`.
  private static let audit = [
    """
    CREATE TABLE audit_unplaced (
      id TEXT COLLATE "C" NOT NULL,
      written_at BIGINT NOT NULL,
      ordinal BIGINT NOT NULL,
      at BIGINT NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      event TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      details TEXT COLLATE "C" NOT NULL,
      CONSTRAINT audit_unplaced_id PRIMARY KEY (id)
    )
    """,
    """
    CREATE TABLE audit (
      position BIGINT NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      at BIGINT NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      event TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      details TEXT COLLATE "C" NOT NULL,
      CONSTRAINT audit_at_position PRIMARY KEY (position)
    )
    """,
    """
    CREATE TABLE audit_position (
      id BIGINT NOT NULL,
      last BIGINT NOT NULL,
      CONSTRAINT audit_position_id PRIMARY KEY (id)
    )
    """,
    "INSERT INTO audit_position (id, last) VALUES (1, 0)",
  ]

  /// The changes that were committed, and those that never can be.
  private static let changes = [
    """
    CREATE TABLE changes (
      id BYTEA NOT NULL,
      at BIGINT NOT NULL,
      is_fence BOOLEAN NOT NULL,
      CONSTRAINT changes_id PRIMARY KEY (id)
    )
    """,
    "CREATE INDEX changes_by_age ON changes (at)",
  ]
}
