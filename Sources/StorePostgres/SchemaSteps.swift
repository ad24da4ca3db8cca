// The steps of the schema after its baseline. Each one is additive: the previous program can still work on its result.

extension Schema {
  /// When an administrator freed the id of a removed account.
  static let forgottenAccounts = ["ALTER TABLE closed_accounts ADD COLUMN forgotten_at BIGINT"]
}
