// The steps of the schema after its baseline. Each one is additive: the previous program can still work on its result.

import Store

extension Schema {
  /// When an administrator freed the id of a removed account.
  static let forgottenAccounts = ["ALTER TABLE closed_accounts ADD COLUMN forgotten_at BIGINT"]

  /// The key of a passkey.
  static let passkeyColumn = ["ALTER TABLE identities ADD COLUMN passkey BYTEA"]

  /// By what Apple identifies a user while an application moves to another team.
  static let transferSubject = [
    "ALTER TABLE identities ADD COLUMN transfer_subject TEXT COLLATE \"C\"",
    """
    CREATE UNIQUE INDEX identities_transfer ON identities (provider_id, transfer_subject)
    WHERE transfer_subject IS NOT NULL
    """,
  ]

  /// Accepts the pending rows and the second factors of passkeys, and codes by email.
  static let passkeysAndEmailCodes = [
    "ALTER TABLE factors DROP CONSTRAINT factors_kind",
    """
    ALTER TABLE factors ADD CONSTRAINT factors_kind CHECK (\(SchemaValues.check("kind", SchemaValues.factorKinds)))
    """,
    "ALTER TABLE pendings DROP CONSTRAINT pendings_purpose",
    """
    ALTER TABLE pendings ADD CONSTRAINT pendings_purpose
      CHECK (\(SchemaValues.check("purpose", SchemaValues.pendingPurposes)))
    """,
  ]
}
