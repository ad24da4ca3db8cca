import Reactor

/// The schema as a list of migrations. A released migration is never edited; a change is a new migration.
///
/// Uses only what the distributed relatives of PostgreSQL accept too: no sequences, no triggers, no functions, no
/// advisory locks, no foreign keys. Integers have eight bytes, timestamps are milliseconds since 1970, texts are
/// ordered bytewise. The constraints that reject a row have names, which identify them.
enum Migrations {
  static let steps = [
    accounts + credentials + sessions + pendings + deliveries + records + audit + changes, beginnings, channels,
    priorities, quotas,
  ]

  /// The conflicts between processes that start at the same time: rows of the catalog, and each other's transactions.
  private static let collisions = ["23505", "42710", "42P07", "42P06", "40001", "40P01", lockTimeout]
  private static let undefinedTable = "42P01"
  private static let question = "SELECT version FROM schema_version WHERE id = 1"
  private static let attemptsMax = 50
  private static let lockTimeout = "55P03"
  /// How long to wait for a table that another session uses. Sessions that request the table during that time wait
  /// behind the migration.
  private static let lockMillis = 1_000
  /// How long to retry. In the pauses, waiting sessions proceed.
  private static let patienceMillis: Int64 = 300_000

  /// Migrates the schema to the latest version, one transaction a step. Rejects a database that cannot hold every text
  /// before it writes to it.
  ///
  /// If several processes migrate at the same time, one waits for the other at the row of the version, however long a
  /// step takes. Afterwards the connection may have no statement or lock timeout until the caller sets one.
  ///
  /// - Parameter deadline: limits the statements that wait for no other session, which are all statements if the schema
  ///   is current. A database that hangs must not block a start permanently.
  static func run(
    on connection: ReadyConnection, steps: [String] = steps, patienceMillis: Int64 = patienceMillis,
    by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) {
    let begun = monotonicMillis()
    var attempts = 0
    try connection.requireUTF8(by: deadline)
    if try isUpToDate(connection, steps, by: deadline) { return }
    try connection.execute("SET statement_timeout = 0; SET lock_timeout = 0", by: deadline)
    while true {
      do throws(ReadyConnection.Refusal) {
        return try climb(connection, steps)
      } catch {
        guard collisions.contains(error.state) else { throw error }
        try connection.execute("ROLLBACK")
        guard error.state != lockTimeout else {
          guard monotonicMillis() - begun < patienceMillis else {
            throw ReadyConnection.Refusal(
              text: "the schema cannot be migrated while other sessions use its tables: \(error.text)",
              state: error.state)
          }
          sleepThread(millis: UInt32.random(in: 500...2_000))
          continue
        }
        attempts += 1
        guard attempts < attemptsMax else { throw error }
      }
    }
  }

  /// Returns whether the schema is current. Also false if another session has locked the row, and with it the schema or
  /// all tables.
  private static func isUpToDate(
    _ connection: ReadyConnection, _ steps: [String], by deadline: Int64?
  ) throws(ReadyConnection.Refusal) -> Bool {
    do throws(ReadyConnection.Refusal) {
      return try version(connection, "\(question) FOR UPDATE NOWAIT", steps, by: deadline) == steps.count
    } catch {
      guard error.state == undefinedTable || collisions.contains(error.state) else { throw error }
      return false
    }
  }

  private static func version(
    _ connection: ReadyConnection, _ query: String, _ steps: [String], by deadline: Int64? = nil
  ) throws(ReadyConnection.Refusal) -> Int {
    let version = Int(try connection.text(query, by: deadline)) ?? 0
    guard version <= steps.count else {
      throw ReadyConnection.Refusal(
        text: "the store has schema \(version), this program knows \(steps.count): it was written by a newer version")
    }
    return version
  }

  private static func climb(_ connection: ReadyConnection, _ steps: [String]) throws(ReadyConnection.Refusal) {
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS schema_version (
        id BIGINT NOT NULL,
        version BIGINT NOT NULL,
        CONSTRAINT schema_version_id PRIMARY KEY (id)
      )
      """)
    try connection.execute("INSERT INTO schema_version (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
    while true {
      try connection.execute("BEGIN")
      let version = try version(connection, "\(question) FOR UPDATE", steps)
      if version == steps.count { return try connection.execute("COMMIT") }
      try connection.execute("SET LOCAL lock_timeout = \(lockMillis)")
      try connection.execute(steps[version])
      try connection.execute("UPDATE schema_version SET version = \(version + 1) WHERE id = 1")
      try connection.execute("COMMIT")
    }
  }

  private static let accounts = """
    CREATE TABLE accounts (
      id TEXT COLLATE "C" NOT NULL,
      version BIGINT NOT NULL,
      email TEXT COLLATE "C",
      email_proof TEXT COLLATE "C",
      email_proof_provider_id TEXT COLLATE "C",
      email_source TEXT COLLATE "C",
      phone_number TEXT COLLATE "C",
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
      email_proved_at BIGINT,
      phone_number_set_at BIGINT,
      idle_since BIGINT NOT NULL,
      CONSTRAINT accounts_id PRIMARY KEY (id),
      CONSTRAINT accounts_email UNIQUE (email),
      CONSTRAINT accounts_phone_number UNIQUE (phone_number)
    );
    CREATE INDEX anonymous_by_idle ON accounts (idle_since) WHERE anonymous;
    CREATE TABLE closed_accounts (
      id TEXT COLLATE "C" NOT NULL,
      survivor_id TEXT COLLATE "C" NOT NULL,
      moved_provider_ids TEXT COLLATE "C" NOT NULL,
      closed_at BIGINT NOT NULL,
      CONSTRAINT closed_accounts_id PRIMARY KEY (id)
    );
    """

  /// Their keys begin with the account, by which a distributed database partitions tables.
  private static let credentials = """
    CREATE TABLE identities (
      account_id TEXT COLLATE "C" NOT NULL,
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      email TEXT COLLATE "C",
      tier BIGINT NOT NULL,
      display_name TEXT COLLATE "C" NOT NULL,
      photo_url TEXT COLLATE "C" NOT NULL,
      username TEXT COLLATE "C" NOT NULL,
      linked_at BIGINT NOT NULL,
      CONSTRAINT identities_of_account PRIMARY KEY (account_id, provider_id, subject),
      CONSTRAINT identities_key UNIQUE (provider_id, subject)
    );
    CREATE INDEX identities_by_email ON identities (email, linked_at) WHERE tier >= 1;
    CREATE TABLE unlinks (
      account_id TEXT COLLATE "C" NOT NULL,
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      unlinked_at BIGINT NOT NULL,
      CONSTRAINT unlinks_of_account PRIMARY KEY (account_id, provider_id, subject)
    );
    CREATE TABLE factors (
      account_id TEXT COLLATE "C" NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      kind TEXT COLLATE "C" NOT NULL,
      display_name TEXT COLLATE "C" NOT NULL,
      phone_number TEXT COLLATE "C",
      sealed_secret BYTEA NOT NULL,
      enrolled_at BIGINT NOT NULL,
      CONSTRAINT factors_of_account PRIMARY KEY (account_id, id)
    );
    """

  /// `ends_at` is when the session ends, for any reason. The index contains its day, so a refresh, which postpones the
  /// end slightly, changes no index and writes only its own page.
  ///
  /// Days are counted from 1970. The day of the absolute end is stored, so that a refresh need not divide.
  private static let sessions = """
    CREATE TABLE sessions (
      id TEXT COLLATE "C" NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      refresh_digest BYTEA NOT NULL,
      parent_digest BYTEA,
      rotated_at BIGINT,
      auth_time BIGINT NOT NULL,
      sign_in_provider_id TEXT COLLATE "C" NOT NULL,
      methods TEXT COLLATE "C" NOT NULL,
      second_factor TEXT COLLATE "C",
      second_factor_id TEXT COLLATE "C",
      audience TEXT COLLATE "C" NOT NULL,
      claims_json TEXT COLLATE "C" NOT NULL,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT NOT NULL,
      idle_expires_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      expires_day BIGINT NOT NULL,
      closed_at BIGINT,
      closed_reason TEXT COLLATE "C",
      ip_address TEXT COLLATE "C" NOT NULL,
      user_agent TEXT COLLATE "C" NOT NULL,
      device_id TEXT COLLATE "C" NOT NULL,
      ends_at BIGINT NOT NULL,
      ends_day BIGINT NOT NULL,
      CONSTRAINT sessions_id PRIMARY KEY (id)
    );
    CREATE INDEX sessions_by_account ON sessions (account_id, device_id);
    CREATE INDEX sessions_by_end_day ON sessions (ends_day);
    """

  /// `pending_counts` holds the row counts of each account (two scopes, its id), each caller ('caller', its name) and
  /// the table ('total', ''). It also holds the number of waiting ('delivery') and given-up messages
  /// ('buried_delivery'). The row of the table exists from the beginning, because every transaction that changes
  /// pending rows locks it first.
  private static let pendings = """
    CREATE TABLE pendings (
      digest BYTEA NOT NULL,
      version BIGINT NOT NULL,
      purpose TEXT COLLATE "C" NOT NULL,
      provider_id TEXT COLLATE "C" NOT NULL,
      subject TEXT COLLATE "C" NOT NULL,
      email TEXT COLLATE "C",
      tier BIGINT NOT NULL,
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
      CONSTRAINT pendings_digest PRIMARY KEY (digest)
    );
    CREATE INDEX pendings_by_account ON pendings (account_id);
    CREATE INDEX pendings_by_identity ON pendings (subject, provider_id, purpose);
    CREATE INDEX pendings_by_expiry ON pendings (expires_at);
    CREATE TABLE pending_counts (
      scope TEXT COLLATE "C" NOT NULL,
      name TEXT COLLATE "C" NOT NULL,
      held BIGINT NOT NULL,
      CONSTRAINT pending_counts_scope PRIMARY KEY (scope, name)
    );
    INSERT INTO pending_counts (scope, name, held) VALUES ('total', '', 0);
    """

  private static let deliveries = """
    CREATE TABLE deliveries (
      id TEXT COLLATE "C" NOT NULL,
      channel TEXT COLLATE "C" NOT NULL,
      kind TEXT COLLATE "C" NOT NULL,
      sealed BYTEA NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      attempts BIGINT NOT NULL,
      next_attempt_at BIGINT NOT NULL,
      buried_at BIGINT,
      buried_reason TEXT COLLATE "C",
      kept_until BIGINT,
      CONSTRAINT deliveries_id PRIMARY KEY (id)
    );
    CREATE INDEX deliveries_by_attempt ON deliveries (next_attempt_at) WHERE buried_at IS NULL;
    CREATE INDEX deliveries_by_age ON deliveries (created_at) WHERE buried_at IS NULL;
    CREATE INDEX deliveries_by_end ON deliveries (kept_until) WHERE kept_until IS NOT NULL;
    """

  /// Messages are looked up by their channel.
  private static let channels = """
    CREATE INDEX deliveries_by_channel ON deliveries (channel, next_attempt_at) WHERE buried_at IS NULL;
    DROP INDEX deliveries_by_attempt;
    """

  private static let records = """
    CREATE TABLE idempotency (
      key BYTEA NOT NULL,
      request BYTEA NOT NULL,
      outcome TEXT COLLATE "C" NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      session_id TEXT COLLATE "C",
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      CONSTRAINT idempotency_key PRIMARY KEY (key)
    );
    CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
    CREATE TABLE spent_tokens (
      digest BYTEA NOT NULL,
      expires_at BIGINT NOT NULL,
      CONSTRAINT spent_tokens_digest PRIMARY KEY (digest)
    );
    CREATE INDEX spent_tokens_by_expiry ON spent_tokens (expires_at);
    CREATE TABLE signing_keys (
      key_id TEXT COLLATE "C" NOT NULL,
      algorithm TEXT COLLATE "C" NOT NULL,
      sealed_private_key BYTEA NOT NULL,
      published_at BIGINT NOT NULL,
      active_from BIGINT NOT NULL,
      retired_at BIGINT,
      CONSTRAINT signing_keys_key_id PRIMARY KEY (key_id)
    );
    CREATE TABLE throttles (
      key BYTEA NOT NULL,
      count BIGINT NOT NULL,
      since BIGINT NOT NULL,
      blocks BIGINT NOT NULL,
      blocked_until BIGINT,
      expires_at BIGINT NOT NULL,
      CONSTRAINT throttles_key PRIMARY KEY (key)
    );
    CREATE INDEX throttles_by_expiry ON throttles (expires_at);
    CREATE TABLE import_keys (
      id TEXT COLLATE "C" NOT NULL,
      sealed_key BYTEA NOT NULL,
      created_at BIGINT NOT NULL,
      CONSTRAINT import_keys_id PRIMARY KEY (id)
    );
    """

  /// A change appends to `audit_unplaced`. The process that locks the one row of `audit_position` moves rows to `audit`
  /// and assigns their positions, ordered by `written_at` (microseconds) and `ordinal`.
  private static let audit = """
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
    );
    CREATE TABLE audit (
      position BIGINT NOT NULL,
      id TEXT COLLATE "C" NOT NULL,
      at BIGINT NOT NULL,
      account_id TEXT COLLATE "C" NOT NULL,
      event TEXT COLLATE "C" NOT NULL,
      caller TEXT COLLATE "C" NOT NULL,
      details TEXT COLLATE "C" NOT NULL,
      CONSTRAINT audit_at_position PRIMARY KEY (position)
    );
    CREATE TABLE audit_position (
      id BIGINT NOT NULL,
      last BIGINT NOT NULL,
      CONSTRAINT audit_position_id PRIMARY KEY (id)
    );
    INSERT INTO audit_position (id, last) VALUES (1, 0);
    """

  /// The changes that were committed, and those that never can be.
  private static let changes = """
    CREATE TABLE changes (
      id BYTEA NOT NULL,
      at BIGINT NOT NULL,
      is_fence BOOLEAN NOT NULL,
      CONSTRAINT changes_id PRIMARY KEY (id)
    );
    CREATE INDEX changes_by_age ON changes (at);
    """

  /// A link continues in a session that names what was linked; `began_with` keeps what the previous session began with.
  /// NULL in sessions older than this step, or written by an older replica, which count as begun with what they name.
  private static let beginnings = """
    ALTER TABLE sessions ADD COLUMN began_with TEXT COLLATE "C";
    """

  /// Codes are sent before notices, and equal notices are merged. Messages older than this step count as codes.
  private static let priorities = """
    ALTER TABLE deliveries ADD COLUMN priority BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE deliveries ADD COLUMN merge_key BYTEA;
    CREATE UNIQUE INDEX deliveries_by_merge_key ON deliveries (merge_key)
      WHERE buried_at IS NULL AND merge_key IS NOT NULL;
    CREATE INDEX deliveries_by_priority ON deliveries (channel, priority, next_attempt_at) WHERE buried_at IS NULL;
    DROP INDEX deliveries_by_channel;
    """

  /// Each purpose has its own quota with each caller. `pending_networks` holds each network's part of it. Rows older
  /// than this step belong to no network.
  private static let quotas = """
    ALTER TABLE pendings ADD COLUMN network BYTEA;
    CREATE INDEX pendings_by_network ON pendings (purpose, caller, coalesce(network, ''), created_at);
    CREATE TABLE pending_networks (
      quota TEXT COLLATE "C" NOT NULL,
      network BYTEA NOT NULL,
      held BIGINT NOT NULL,
      CONSTRAINT pending_networks_quota PRIMARY KEY (quota, network)
    );
    CREATE INDEX pending_networks_by_held ON pending_networks (quota, held);
    INSERT INTO pending_networks (quota, network, held)
      SELECT purpose || ' ' || caller, '', count(*) FROM pendings GROUP BY purpose, caller;
    DELETE FROM pending_counts WHERE scope = 'caller';
    INSERT INTO pending_counts (scope, name, held)
      SELECT 'caller', purpose || ' ' || caller, count(*) FROM pendings GROUP BY purpose, caller
      UNION ALL SELECT 'purpose', purpose, count(*) FROM pendings GROUP BY purpose;
    """
}
