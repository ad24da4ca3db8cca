// The steps of the schema after its baseline. Each one is additive: the previous program can still work on its result.

import Store

extension Schema {
  /// When an administrator freed the id of a removed account.
  static let forgottenAccounts = ["ALTER TABLE closed_accounts ADD COLUMN forgotten_at INTEGER"]

  /// The key of a passkey.
  static let passkeyColumn = ["ALTER TABLE identities ADD COLUMN passkey BLOB"]

  /// By what Apple identifies a user while an application moves to another team.
  static let transferSubject = [
    "ALTER TABLE identities ADD COLUMN transfer_subject TEXT",
    """
    CREATE UNIQUE INDEX identities_transfer ON identities (provider_id, transfer_subject)
    WHERE transfer_subject IS NOT NULL
    """,
  ]

  /// Accepts the pending rows and the second factors of passkeys, and codes by email.
  ///
  /// SQLite cannot change a check, so the tables are made again with their rows.
  static let passkeysAndEmailCodes = factorsAgain + pendingsAgain

  private static let factorsAgain = [
    """
    CREATE TABLE factors_again (
      account_number INTEGER NOT NULL,
      id TEXT NOT NULL,
      kind TEXT NOT NULL CONSTRAINT factors_kind CHECK (\(SchemaValues.check("kind", SchemaValues.factorKinds))),
      display_name TEXT NOT NULL,
      phone_number TEXT,
      sealed_secret BLOB NOT NULL,
      enrolled_at INTEGER NOT NULL,
      PRIMARY KEY (account_number, id)
    ) STRICT, WITHOUT ROWID
    """,
    """
    INSERT INTO factors_again (account_number, id, kind, display_name, phone_number, sealed_secret, enrolled_at)
    SELECT account_number, id, kind, display_name, phone_number, sealed_secret, enrolled_at FROM factors
    """,
    "DROP TABLE factors",
    "ALTER TABLE factors_again RENAME TO factors",
  ]

  private static let pendingsAgain = [
    """
    CREATE TABLE pendings_again (
      digest BLOB NOT NULL PRIMARY KEY,
      version INTEGER NOT NULL,
      purpose TEXT NOT NULL
        CONSTRAINT pendings_purpose CHECK (\(SchemaValues.check("purpose", SchemaValues.pendingPurposes))),
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
    ) STRICT
    """,
    """
    INSERT INTO pendings_again (digest, version, purpose, provider_id, subject, email, tier, account_id, caller,
      binding, attempt_id, sealed, created_at, expires_at, attempts_left, completed_at, completed_account_id,
      completed_session_id, network)
    SELECT digest, version, purpose, provider_id, subject, email, tier, account_id, caller, binding,
      attempt_id, sealed, created_at, expires_at, attempts_left, completed_at, completed_account_id,
      completed_session_id, network FROM pendings
    """,
    "DROP TABLE pendings",
    "ALTER TABLE pendings_again RENAME TO pendings",
    "CREATE INDEX pendings_by_account ON pendings (account_id)",
    "CREATE INDEX pendings_by_identity ON pendings (subject, provider_id, purpose)",
    "CREATE INDEX pendings_by_network ON pendings (purpose, caller, coalesce(network, x''), created_at)",
    "CREATE INDEX pendings_by_expiry ON pendings (expires_at)",
  ]
}
