import CSQLite

/// The schema as a list of migrations. A released migration is never edited; a change is a new migration.
///
/// Uses only what distributed relatives of PostgreSQL accept too: no triggers, no sequences, no foreign keys across
/// shards. The guards of `Write` keep a dependent row from outliving its account.
enum Migrations {
  static let steps = [
    accounts + credentials + sessions + pendings + rest, customTokens, unknowns, sessionDays,
    deliveries, throttles, buriedDeliveries, passedFactors, closedAccounts, idleAnonymous, importKeys, codes,
    positions, completedRows, beginnings, channels, signIns,
    priorities, quotas,
  ]

  /// Migrates the file from its version (`user_version`, 0 for a new file) to the latest one. Each step is one
  /// transaction, so a failed or interrupted step leaves the file at the previous version.
  static func run(on connection: Connection, steps: [String] = steps) throws(SQLiteError) {
    let version = Int(try connection.integer("PRAGMA user_version"))
    guard version <= steps.count else {
      throw SQLiteError(
        code: SQLITE_ERROR,
        text: "the store has schema \(version), this program knows \(steps.count): it was written by a newer version")
    }
    for number in version..<steps.count {
      try connection.execute("BEGIN IMMEDIATE")
      do throws(SQLiteError) {
        try connection.execute(steps[number])
        try connection.execute("PRAGMA user_version = \(number + 1)")
        try connection.execute("COMMIT")
      } catch {
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
        throw SQLiteError(code: error.code, text: "schema \(number + 1): \(error.text)")
      }
    }
  }

  /// `number` never leaves this file. It is the key of an account's dependents: integer comparisons make a lookup about
  /// a fifth cheaper than comparisons of ids, and the rows of new accounts are adjacent.
  ///
  /// The three counts state which dependent tables need no lookup when an account is read. Most accounts have no rows
  /// there.
  private static let accounts = """
    CREATE TABLE accounts (
      number INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      version INTEGER NOT NULL,
      email TEXT UNIQUE,
      email_proof TEXT,
      email_proof_provider_id TEXT,
      email_source TEXT,
      phone_number TEXT UNIQUE,
      display_name TEXT NOT NULL,
      photo_url TEXT NOT NULL,
      custom_claims TEXT NOT NULL,
      password_hash TEXT,
      password_set_at INTEGER,
      email_link INTEGER NOT NULL,
      anonymous INTEGER NOT NULL,
      disabled INTEGER NOT NULL,
      made_by_administrator INTEGER NOT NULL,
      tokens_valid_after INTEGER,
      created_at INTEGER NOT NULL,
      last_sign_in_at INTEGER,
      identity_count INTEGER NOT NULL DEFAULT 0,
      factor_count INTEGER NOT NULL DEFAULT 0,
      unlink_count INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    """

  /// Ordered by account, so that one seek finds all rows of an account. The index on email addresses contains only
  /// those that a lookup may find (tier verified and above).
  private static let credentials = """
    CREATE TABLE identities (
      account_number INTEGER NOT NULL,
      provider_id TEXT NOT NULL,
      subject TEXT NOT NULL,
      email TEXT,
      tier INTEGER NOT NULL,
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
      kind TEXT NOT NULL,
      display_name TEXT NOT NULL,
      phone_number TEXT,
      sealed_secret BLOB NOT NULL,
      enrolled_at INTEGER NOT NULL,
      PRIMARY KEY (account_number, id)
    ) STRICT, WITHOUT ROWID;
    """

  /// `ends_at` is the earliest of the session's close, idle and absolute end.
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
      methods TEXT NOT NULL,
      second_factor TEXT,
      audience TEXT NOT NULL,
      claims_json TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER NOT NULL,
      idle_expires_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      closed_at INTEGER,
      closed_reason TEXT,
      ip_address TEXT NOT NULL,
      user_agent TEXT NOT NULL,
      device_id TEXT NOT NULL,
      ends_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX sessions_by_account ON sessions (account_id);
    CREATE INDEX sessions_by_end ON sessions (ends_at);
    """

  /// `pending_counts` holds the row counts of each account ('account', its id), each caller ('caller', its name) and
  /// the table ('total', ''). Each insert and delete updates them in its transaction, so a limit costs one lookup.
  private static let pendings = """
    CREATE TABLE pendings (
      digest BLOB NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      purpose TEXT NOT NULL,
      provider_id TEXT NOT NULL,
      subject TEXT NOT NULL,
      email TEXT,
      tier INTEGER NOT NULL,
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
      completed_session_id TEXT
    ) STRICT;
    CREATE INDEX pendings_by_account ON pendings (account_id);
    CREATE INDEX pendings_by_expiry ON pendings (expires_at);
    CREATE TABLE pending_counts (
      scope TEXT NOT NULL,
      name TEXT NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (scope, name)
    ) STRICT, WITHOUT ROWID;
    """

  private static let rest = """
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
    CREATE TABLE audit (
      id TEXT NOT NULL PRIMARY KEY,
      at INTEGER NOT NULL,
      account_id TEXT NOT NULL,
      event TEXT NOT NULL,
      caller TEXT NOT NULL,
      details TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE signing_keys (
      key_id TEXT NOT NULL PRIMARY KEY,
      algorithm TEXT NOT NULL,
      sealed_private_key BLOB NOT NULL,
      published_at INTEGER NOT NULL,
      active_from INTEGER NOT NULL,
      retired_at INTEGER
    ) STRICT, WITHOUT ROWID;
    """

  private static let customTokens = """
    ALTER TABLE accounts ADD COLUMN custom_token INTEGER NOT NULL DEFAULT 0;
    """

  /// The rows of an account are counted in two scopes (`CountScope.ofAccount`), both under its id.
  private static let unknowns = """
    DELETE FROM pending_counts WHERE scope = 'account';
    INSERT INTO pending_counts (scope, name, held)
      SELECT CASE WHEN purpose = 'link' AND tier = 0 THEN 'stranger' ELSE 'account' END AS scope, account_id, COUNT(*)
      FROM pendings GROUP BY scope, account_id;
    """

  /// A refresh postpones the end of its session. Before this step, that moved the session's index entry by
  /// milliseconds, which cost a page of the index far from its own. Now a refresh leaves the index alone within a day.
  private static let sessionDays = """
    ALTER TABLE sessions ADD COLUMN ends_day INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET ends_day = ends_at / 86400000;
    DROP INDEX sessions_by_end;
    CREATE INDEX sessions_by_end_day ON sessions (ends_day);
    """

  /// The waiting messages. `pending_counts` holds their count as 'delivery'. Given-up messages keep their row and are
  /// not counted.
  private static let deliveries = """
    CREATE TABLE deliveries (
      id TEXT NOT NULL PRIMARY KEY,
      channel TEXT NOT NULL,
      kind TEXT NOT NULL,
      sealed BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      next_attempt_at INTEGER NOT NULL,
      buried_at INTEGER,
      buried_reason TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX deliveries_by_attempt ON deliveries (next_attempt_at) WHERE buried_at IS NULL;
    """

  /// The index of an account's sessions also contains their devices.
  private static let throttles = """
    CREATE TABLE throttles (
      key BLOB NOT NULL PRIMARY KEY,
      count INTEGER NOT NULL,
      since INTEGER NOT NULL,
      blocks INTEGER NOT NULL,
      blocked_until INTEGER,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX throttles_by_expiry ON throttles (expires_at);
    DROP INDEX sessions_by_account;
    CREATE INDEX sessions_by_account ON sessions (account_id, device_id);
    """

  /// The retention of given-up messages, counted in `pending_counts` as 'buried_delivery'. The first row of
  /// `deliveries_by_age` states the age of the queue.
  private static let buriedDeliveries = """
    ALTER TABLE deliveries ADD COLUMN kept_until INTEGER;
    CREATE INDEX deliveries_by_end ON deliveries (kept_until) WHERE kept_until IS NOT NULL;
    CREATE INDEX deliveries_by_age ON deliveries (created_at) WHERE buried_at IS NULL;
    """

  /// The factor that a session passed, so that it no longer counts once that factor is removed.
  private static let passedFactors = """
    ALTER TABLE sessions ADD COLUMN second_factor_id TEXT;
    """

  /// Kept permanently, because an id is never assigned twice.
  private static let closedAccounts = """
    CREATE TABLE closed_accounts (
      id TEXT NOT NULL PRIMARY KEY,
      survivor_id TEXT NOT NULL,
      moved_provider_ids TEXT NOT NULL,
      closed_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// The time since which an anonymous account is not known to have been used.
  ///
  /// Set when the account is created and when it is checked. Each account is thus checked once per idle period, no
  /// matter how often it is used.
  private static let idleAnonymous = """
    ALTER TABLE accounts ADD COLUMN idle_since INTEGER NOT NULL DEFAULT 0;
    UPDATE accounts SET idle_since = created_at WHERE anonymous = 1;
    CREATE INDEX anonymous_by_idle ON accounts (idle_since) WHERE anonymous = 1;
    """

  private static let importKeys = """
    CREATE TABLE import_keys (
      id TEXT NOT NULL PRIMARY KEY,
      sealed_key BLOB NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """

  /// Requesting a code again ends the previous one, which is found by its recipient.
  private static let codes = """
    ALTER TABLE accounts ADD COLUMN email_proved_at INTEGER;
    ALTER TABLE accounts ADD COLUMN phone_number_set_at INTEGER;
    CREATE INDEX pendings_by_identity ON pendings (subject, provider_id, purpose);
    """

  /// Rows are appended and read in commit order. The position is the key, so no other index is needed.
  private static let positions = """
    CREATE TABLE events (
      position INTEGER NOT NULL PRIMARY KEY,
      id TEXT NOT NULL,
      at INTEGER NOT NULL,
      account_id TEXT NOT NULL,
      event TEXT NOT NULL,
      caller TEXT NOT NULL,
      details TEXT NOT NULL
    ) STRICT;
    INSERT INTO events (position, id, at, account_id, event, caller, details)
      SELECT row_number() OVER (ORDER BY id), id, at, account_id, event, caller, details FROM audit ORDER BY id;
    DROP TABLE audit;
    ALTER TABLE events RENAME TO audit;
    """

  /// A completed row no longer counts towards its account.
  private static let completedRows = """
    DELETE FROM pending_counts WHERE scope IN ('account', 'stranger');
    INSERT INTO pending_counts (scope, name, held)
      SELECT CASE WHEN purpose = 'link' AND tier = 0 THEN 'stranger' ELSE 'account' END AS scope, account_id, COUNT(*)
      FROM pendings WHERE completed_at IS NULL AND account_id <> '' GROUP BY scope, account_id;
    """

  /// A link continues in a session that names what was linked; `began_with` keeps what the previous session began with.
  /// NULL in sessions older than this step, which count as begun with what they name.
  private static let beginnings = """
    ALTER TABLE sessions ADD COLUMN began_with TEXT;
    """

  /// Messages are looked up by their channel.
  private static let channels = """
    CREATE INDEX deliveries_by_channel ON deliveries (channel, next_attempt_at) WHERE buried_at IS NULL;
    DROP INDEX deliveries_by_attempt;
    """

  /// The time of the sign-in that opened the session, if its account does not state it.
  ///
  /// NULL in sessions that continue another one, that belong to a sign-in that changed more of the account, or that are
  /// older than this step. The index that finds an account's sessions also states its last sign-in. Few sessions are on
  /// a named device.
  private static let signIns = """
    ALTER TABLE sessions ADD COLUMN signed_in_at INTEGER;
    CREATE INDEX sessions_by_sign_in ON sessions (account_id, signed_in_at);
    CREATE INDEX sessions_by_device ON sessions (account_id, device_id) WHERE device_id <> '';
    DROP INDEX sessions_by_account;
    """

  /// Codes are sent before notices, and equal notices are merged. Messages older than this step count as codes.
  private static let priorities = """
    ALTER TABLE deliveries ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE deliveries ADD COLUMN merge_key BLOB;
    CREATE UNIQUE INDEX deliveries_by_merge_key ON deliveries (merge_key)
      WHERE buried_at IS NULL AND merge_key IS NOT NULL;
    CREATE INDEX deliveries_by_priority ON deliveries (channel, priority, next_attempt_at) WHERE buried_at IS NULL;
    DROP INDEX deliveries_by_channel;
    """

  /// Each purpose has its own quota with each caller. `pending_networks` holds each network's part of it. Rows older
  /// than this step belong to no network.
  private static let quotas = """
    ALTER TABLE pendings ADD COLUMN network BLOB;
    CREATE INDEX pendings_by_network ON pendings (purpose, caller, coalesce(network, x''), created_at);
    CREATE TABLE pending_networks (
      quota TEXT NOT NULL,
      network BLOB NOT NULL,
      held INTEGER NOT NULL,
      PRIMARY KEY (quota, network)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pending_networks_by_held ON pending_networks (quota, held);
    INSERT INTO pending_networks (quota, network, held)
      SELECT purpose || ' ' || caller, x'', COUNT(*) FROM pendings GROUP BY purpose, caller;
    DELETE FROM pending_counts WHERE scope = 'caller';
    INSERT INTO pending_counts (scope, name, held)
      SELECT 'caller', purpose || ' ' || caller, COUNT(*) FROM pendings GROUP BY purpose, caller
      UNION ALL SELECT 'purpose', purpose, COUNT(*) FROM pendings GROUP BY purpose;
    """
}
