import Store

extension Script {
  func add(_ write: AccountWrite) {
    switch write {
    case .insert(let account):
      add(.insertAccount) { $0.bind(account) }
      // Follows the insert, which waits for a transaction that closes the same account. This step then sees its writes.
      add(.guardNeverClosed, refusing: .conflict(.accountID)) { $0.bind(account.id).bind(account.tokensValidAfter) }
      // Only an account that takes a freed id begins with a cut-off of tokens.
      if account.tokensValidAfter != nil { add(.deleteClosedAccount) { $0.bind(account.id) } }
    case .update(let account): add(.updateAccount, refusing: .stale) { $0.bind(account) }
    case .raise(let id, let version): add(.raiseAccount, refusing: .stale) { $0.bind(id).bind(version) }
    case .touch(let id, let version, let at):
      add(.touchAccount, refusing: .stale) { $0.bind(id).bind(version).bind(at) }
    case .confirm(let id, let version): add(.confirmAccount, refusing: .stale) { $0.bind(id).bind(version) }
    case .cutOff(let id, let at, let disabling):
      add(.cutOff, refusing: .stale) { $0.bind(id).bind(at).bind(disabling) }
    case .requireFreeEmail(let email):
      // No other transaction ever sees this row. At the unique key, it makes every transaction that takes the address
      // wait for the end of this one, and this one for theirs.
      add(.holdEmail) { $0.bind(id.bytes).bind(email) }
      add(.letGoOfEmail) { $0.bind(id.bytes) }
    case .close(let closed, let version): close(closed, version)
    case .forget(let id, let at): forget(id, at)
    case .requireIdle(let accountID, let since):
      // A sign-in waits for the account, a refresh for its session. The guard sees every one of them that came first.
      add(.lockAccount) { $0.bind(accountID) }
      addLong(.lockSessions) { $0.bind(accountID) }
      add(.guardIdle, refusing: .stale) { $0.bind(accountID).bind(since) }
    case .noteIdle(let accountID, let since): add(.noteIdle) { $0.bind(accountID).bind(since) }
    }
  }

  /// Removes everything except the pending rows, which wait for their lock.
  private func close(_ closed: ClosedAccountRecord, _ version: Int64?) {
    if let version {
      add(.deleteAccount, refusing: .stale) { $0.bind(closed.id).bind(version) }
    } else {
      add(.deleteAnyAccount, refusing: .stale) { $0.bind(closed.id) }
    }
    for statement in [Statement.deleteIdentities, .deleteFactors, .deleteUnlinks] {
      add(statement) { $0.bind(closed.id) }
    }
    addLong(.deleteSessions) { $0.bind(closed.id) }
    add(.insertClosedAccount) { $0.bind(closed) }
  }

  private func forget(_ id: String, _ at: Timestamp) {
    add(.forgetAccount, refusing: .stale) { $0.bind(id).bind(at) }
    // The next holder of the id is another user (SEMANTICS.md section 14, ForgetAccount).
    for statement in [Statement.removeDeliveries, .deleteSentMessages, .deleteFailures] {
      add(statement) { $0.bind(id) }
    }
  }

  // MARK: Dependents of an account

  func add(_ write: IdentityWrite) {
    switch write {
    case .insert(let identity): add(.insertIdentity, refusing: .stale) { $0.bind(identity) }
    case .update(let identity):
      add(.updateIdentity, refusing: .stale) { $0.bind(identity, except: "linked_at") }
    case .delete(let key, let accountID):
      add(.deleteIdentity, refusing: .stale) { $0.bind(accountID).bind(key.providerID).bind(key.subject) }
    }
  }

  func add(_ write: UnlinkWrite) {
    switch write {
    case .remember(let unlink): add(.rememberUnlink, refusing: .stale) { $0.bind(unlink) }
    case .forget(let accountID, let key):
      add(.forgetUnlink) { $0.bind(accountID).bind(key.providerID).bind(key.subject) }
    }
  }

  func add(_ write: FactorWrite) {
    switch write {
    case .insert(let factor): add(.insertFactor, refusing: .stale) { $0.bind(factor) }
    case .update(let factor):
      add(.updateFactor, refusing: .stale) {
        $0.bind(factor.accountID).bind(factor.id).bind(factor.displayName).bind(factor.sealedSecret)
      }
    case .delete(let id, let accountID): add(.deleteFactor, refusing: .stale) { $0.bind(accountID).bind(id) }
    case .requireNone(let accountID): add(.guardNoFactors, refusing: .stale) { $0.bind(accountID) }
    }
  }
}

extension Statement {
  // MARK: Accounts

  static let insertAccount = Statement(
    "insert_account",
    """
    INSERT INTO accounts (\(AccountRecord.columns.names), idle_since)
    VALUES (\(AccountRecord.columns.placeholders("$")), \(AccountRecord.columns.placeholder("$", "created_at")))
    """)
  static let guardNeverClosed = Statement(
    "guard_never_closed",
    """
    SELECT 1 / (1 - count(*)) FROM closed_accounts
    WHERE id = $1 AND coalesce(forgotten_at > coalesce($2::bigint, -1), true)
    """)
  static let deleteClosedAccount = Statement("delete_closed_account", "DELETE FROM closed_accounts WHERE id = $1")
  static let forgetAccount = guarding(
    "forget_account",
    "UPDATE closed_accounts SET forgotten_at = $2 WHERE id = $1 AND forgotten_at IS NULL RETURNING 1")
  static let updateAccount = guarding(
    "update_account",
    """
    UPDATE accounts SET version = version + 1,
      \(AccountRecord.columns.assignments("$", except: "id", "version", "last_sign_in_at")),
      last_sign_in_at = greatest(last_sign_in_at, \(AccountRecord.columns.placeholder("$", "last_sign_in_at")))
    WHERE id = \(AccountRecord.columns.placeholder("$", "id"))
      AND version = \(AccountRecord.columns.placeholder("$", "version")) RETURNING 1
    """)
  static let raiseAccount = guarding(
    "raise_account", "UPDATE accounts SET version = version + 1 WHERE id = $1 AND version = $2 RETURNING 1")
  static let touchAccount = guarding(
    "touch_account",
    """
    UPDATE accounts SET last_sign_in_at = greatest(last_sign_in_at, $3) WHERE id = $1 AND version = $2 RETURNING 1
    """)
  static let confirmAccount = guarding(
    "confirm_account", "SELECT 1 FROM accounts WHERE id = $1 AND version = $2 FOR SHARE")
  static let cutOff = guarding(
    "cut_off",
    """
    UPDATE accounts SET version = version + 1, tokens_valid_after = greatest(tokens_valid_after, $2),
      disabled = disabled OR $3
    WHERE id = $1 AND NOT (disabled AND $3) RETURNING 1
    """)
  static let holdEmail = Statement(
    "hold_email",
    """
    INSERT INTO accounts (id, version, email, display_name, photo_url, custom_claims, email_link, custom_token,
      anonymous, disabled, made_by_administrator, created_at, idle_since)
    VALUES (encode($1, 'hex'), 0, $2, '', '', '', false, false, false, false, false, 0, 0)
    """)
  static let letGoOfEmail = Statement("let_go_of_email", "DELETE FROM accounts WHERE id = encode($1, 'hex')")
  static let deleteAccount = guarding(
    "delete_account", "DELETE FROM accounts WHERE id = $1 AND version = $2 RETURNING 1")
  static let deleteAnyAccount = guarding("delete_any_account", "DELETE FROM accounts WHERE id = $1 RETURNING 1")
  static let deleteIdentities = Statement("delete_identities", "DELETE FROM identities WHERE account_id = $1")
  static let deleteFactors = Statement("delete_factors", "DELETE FROM factors WHERE account_id = $1")
  static let deleteUnlinks = Statement("delete_unlinks", "DELETE FROM unlinks WHERE account_id = $1")
  static let deleteSessions = Statement("delete_sessions", "DELETE FROM sessions WHERE account_id = $1")
  static let insertClosedAccount = Statement(
    "insert_closed_account", ClosedAccountRecord.insert("$"))
  static let lockSessions = Statement(
    "lock_sessions", "SELECT 1::bigint FROM sessions WHERE account_id = $1 ORDER BY id FOR UPDATE")
  static let guardIdle = Statement(
    "guard_idle",
    """
    SELECT 1 / (1 - count(*)) FROM (
      SELECT 1 FROM sessions WHERE account_id = $1 AND last_used_at >= $2 LIMIT 1) AS used
    """)
  static let noteIdle = Statement("note_idle", "UPDATE accounts SET idle_since = $2 WHERE id = $1")

  // MARK: Dependents of accounts, which need an account that exists until the end of the transaction

  /// Inserts a record if its account exists, and locks the account.
  private static func insertDependent<Record: StoredRecord>(_: Record.Type) -> String {
    let placeholders = Record.typedPlaceholders.map { $0.name == "account_id" ? "id" : $0.placeholder }
    return """
      INSERT INTO \(Record.table.name) (\(Record.columns.names)) SELECT \(placeholders.joined(separator: ", "))
      FROM accounts WHERE id = \(Record.columns.placeholder("$", "account_id")) FOR UPDATE
      """
  }

  static let insertIdentity = guarding("insert_identity", "\(insertDependent(IdentityRecord.self)) RETURNING 1")
  private static let identity = IdentityRecord.columns.without("linked_at")
  static let updateIdentity = guarding(
    "update_identity",
    """
    UPDATE identities SET \(identity.assignments("$", except: "account_id", "provider_id", "subject"))
    WHERE account_id = \(identity.placeholder("$", "account_id"))
      AND provider_id = \(identity.placeholder("$", "provider_id"))
      AND subject = \(identity.placeholder("$", "subject")) RETURNING 1
    """)
  static let deleteIdentity = guarding(
    "delete_identity",
    "DELETE FROM identities WHERE account_id = $1 AND provider_id = $2 AND subject = $3 RETURNING 1")
  /// A second unlink of the same identity only updates the time.
  static let rememberUnlink = guarding(
    "remember_unlink",
    """
    \(insertDependent(UnlinkRecord.self))
    ON CONFLICT (account_id, provider_id, subject)
    DO UPDATE SET \(UnlinkRecord.columns.takingOver(except: "account_id", "provider_id", "subject")) RETURNING 1
    """)
  static let forgetUnlink = Statement(
    "forget_unlink", "DELETE FROM unlinks WHERE account_id = $1 AND provider_id = $2 AND subject = $3")
  static let insertFactor = guarding("insert_factor", "\(insertDependent(FactorRecord.self)) RETURNING 1")
  static let updateFactor = guarding(
    "update_factor",
    "UPDATE factors SET display_name = $3, sealed_secret = $4 WHERE account_id = $1 AND id = $2 RETURNING 1")
  static let deleteFactor = guarding(
    "delete_factor", "DELETE FROM factors WHERE account_id = $1 AND id = $2 RETURNING 1")
  static let guardNoFactors = Statement(
    "guard_no_factors",
    "SELECT 1 / (1 - count(*)) FROM (SELECT 1 FROM factors WHERE account_id = $1 LIMIT 1) AS enrolled")

  static let ofAccounts = [
    insertAccount, guardNeverClosed, deleteClosedAccount, forgetAccount, updateAccount, raiseAccount,
    touchAccount, confirmAccount, cutOff, holdEmail,
    letGoOfEmail, deleteAccount, deleteAnyAccount, deleteIdentities,
    deleteFactors, deleteUnlinks, deleteSessions, insertClosedAccount, lockSessions, guardIdle, noteIdle,
    insertIdentity, updateIdentity, deleteIdentity, rememberUnlink, forgetUnlink, insertFactor, updateFactor,
    deleteFactor, guardNoFactors, noteChange, lockAccount, appendAudit,
  ]
}
