import Store

extension Script {
  func add(_ write: AccountWrite) {
    switch write {
    case .insert(let account):
      add(.insertAccount) { Script.bind(account, to: $0).bind(account.createdAt) }
      // Follows the insert, which waits for a transaction that closes the same account. This step then sees its writes.
      add(.guardNeverClosed, refusing: .conflict(.accountID)) { $0.bind(account.id) }
    case .update(let account): add(.updateAccount, refusing: .stale) { Script.bind(account, to: $0) }
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
    case .requireIdle(let accountID, let since):
      // A sign-in waits for the account, a refresh for its session. The guard sees every one of them that came first.
      add(.lockAccount) { $0.bind(accountID) }
      addLong(.lockSessions) { $0.bind(accountID) }
      add(.guardIdle, refusing: .stale) { $0.bind(accountID).bind(since) }
    case .noteIdle(let accountID, let since): add(.noteIdle) { $0.bind(accountID).bind(since) }
    }
  }

  private static func bind(_ account: AccountRecord, to step: BoundStatement) -> BoundStatement {
    step.bind(account.id).bind(account.version).bind(account.email).bind(account.emailProof?.rawValue)
      .bind(account.emailProofProviderID).bind(account.emailSource).bind(account.phoneNumber)
      .bind(account.displayName).bind(account.photoURL).bind(account.customClaimsJSON).bind(account.passwordHash)
      .bind(account.passwordSetAt).bind(account.emailLink).bind(account.customToken).bind(account.anonymous)
      .bind(account.disabled).bind(account.madeByAdministrator).bind(account.tokensValidAfter)
      .bind(account.createdAt).bind(account.lastSignInAt).bind(account.emailVerifiedAt)
      .bind(account.phoneNumberSetAt)
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
    add(.insertClosedAccount) {
      $0.bind(closed.id).bind(closed.survivorID).bind(closed.movedProviderIDs.joined(separator: ","))
        .bind(closed.closedAt)
    }
  }

  // MARK: Dependents of an account

  func add(_ write: IdentityWrite) {
    switch write {
    case .insert(let identity):
      add(.insertIdentity, refusing: .stale) { Script.bind(identity, to: $0).bind(identity.linkedAt) }
    case .update(let identity): add(.updateIdentity, refusing: .stale) { Script.bind(identity, to: $0) }
    case .delete(let key, let accountID):
      add(.deleteIdentity, refusing: .stale) { $0.bind(accountID).bind(key.providerID).bind(key.subject) }
    }
  }

  func add(_ write: UnlinkWrite) {
    switch write {
    case .remember(let unlink):
      add(.rememberUnlink, refusing: .stale) {
        $0.bind(unlink.accountID).bind(unlink.key.providerID).bind(unlink.key.subject).bind(unlink.at)
      }
    case .forget(let accountID, let key):
      add(.forgetUnlink) { $0.bind(accountID).bind(key.providerID).bind(key.subject) }
    }
  }

  func add(_ write: FactorWrite) {
    switch write {
    case .insert(let factor):
      add(.insertFactor, refusing: .stale) {
        $0.bind(factor.accountID).bind(factor.id).bind(factor.kind.rawValue).bind(factor.displayName)
          .bind(factor.phoneNumber).bind(factor.sealedSecret).bind(factor.enrolledAt)
      }
    case .update(let factor):
      add(.updateFactor, refusing: .stale) {
        $0.bind(factor.accountID).bind(factor.id).bind(factor.displayName).bind(factor.sealedSecret)
      }
    case .delete(let id, let accountID): add(.deleteFactor, refusing: .stale) { $0.bind(accountID).bind(id) }
    case .requireNone(let accountID): add(.guardNoFactors, refusing: .stale) { $0.bind(accountID) }
    }
  }

  private static func bind(_ identity: IdentityRecord, to step: BoundStatement) -> BoundStatement {
    step.bind(identity.accountID).bind(identity.key.providerID).bind(identity.key.subject).bind(identity.email)
      .bind(identity.tier.rawValue).bind(identity.displayName).bind(identity.photoURL).bind(identity.username)
  }
}

extension Statement {
  // MARK: Accounts

  static let insertAccount = Statement(
    "insert_account",
    """
    INSERT INTO accounts (id, version, email, email_verification, email_verification_provider_id, email_source,
      phone_number, display_name, photo_url, custom_claims, password_hash, password_set_at, email_link, custom_token,
      anonymous, disabled, made_by_administrator, tokens_valid_after, created_at, last_sign_in_at, email_verified_at,
      phone_number_set_at, idle_since)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
    """)
  static let guardNeverClosed = Statement(
    "guard_never_closed", "SELECT 1 / (1 - count(*)) FROM closed_accounts WHERE id = $1")
  static let updateAccount = guarding(
    "update_account",
    """
    UPDATE accounts SET version = version + 1, email = $3, email_verification = $4, email_verification_provider_id = $5,
      email_source = $6, phone_number = $7, display_name = $8, photo_url = $9, custom_claims = $10,
      password_hash = $11, password_set_at = $12, email_link = $13, custom_token = $14, anonymous = $15,
      disabled = $16, made_by_administrator = $17, tokens_valid_after = $18, created_at = $19,
      last_sign_in_at = greatest(last_sign_in_at, $20), email_verified_at = $21, phone_number_set_at = $22
    WHERE id = $1 AND version = $2 RETURNING 1
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
    "insert_closed_account",
    "INSERT INTO closed_accounts (id, survivor_id, moved_provider_ids, closed_at) VALUES ($1, $2, $3, $4)")
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

  static let insertIdentity = guarding(
    "insert_identity",
    """
    INSERT INTO identities (account_id, provider_id, subject, email, tier, display_name, photo_url, username, linked_at)
    SELECT id, $2::text, $3::text, $4::text, $5::bigint, $6::text, $7::text, $8::text, $9::bigint
    FROM accounts WHERE id = $1 FOR UPDATE RETURNING 1
    """)
  static let updateIdentity = guarding(
    "update_identity",
    """
    UPDATE identities SET email = $4, tier = $5, display_name = $6, photo_url = $7, username = $8
    WHERE account_id = $1 AND provider_id = $2 AND subject = $3 RETURNING 1
    """)
  static let deleteIdentity = guarding(
    "delete_identity",
    "DELETE FROM identities WHERE account_id = $1 AND provider_id = $2 AND subject = $3 RETURNING 1")
  /// A second unlink of the same identity only updates the time.
  static let rememberUnlink = guarding(
    "remember_unlink",
    """
    INSERT INTO unlinks (account_id, provider_id, subject, unlinked_at)
    SELECT id, $2::text, $3::text, $4::bigint FROM accounts WHERE id = $1 FOR UPDATE
    ON CONFLICT (account_id, provider_id, subject) DO UPDATE SET unlinked_at = excluded.unlinked_at RETURNING 1
    """)
  static let forgetUnlink = Statement(
    "forget_unlink", "DELETE FROM unlinks WHERE account_id = $1 AND provider_id = $2 AND subject = $3")
  static let insertFactor = guarding(
    "insert_factor",
    """
    INSERT INTO factors (account_id, id, kind, display_name, phone_number, sealed_secret, enrolled_at)
    SELECT id, $2::text, $3::text, $4::text, $5::text, $6::bytea, $7::bigint
    FROM accounts WHERE id = $1 FOR UPDATE RETURNING 1
    """)
  static let updateFactor = guarding(
    "update_factor",
    "UPDATE factors SET display_name = $3, sealed_secret = $4 WHERE account_id = $1 AND id = $2 RETURNING 1")
  static let deleteFactor = guarding(
    "delete_factor", "DELETE FROM factors WHERE account_id = $1 AND id = $2 RETURNING 1")
  static let guardNoFactors = Statement(
    "guard_no_factors",
    "SELECT 1 / (1 - count(*)) FROM (SELECT 1 FROM factors WHERE account_id = $1 LIMIT 1) AS enrolled")

  static let ofAccounts = [
    insertAccount, guardNeverClosed, updateAccount, raiseAccount, touchAccount, confirmAccount, cutOff, holdEmail,
    letGoOfEmail, deleteAccount, deleteAnyAccount, deleteIdentities,
    deleteFactors, deleteUnlinks, deleteSessions, insertClosedAccount, lockSessions, guardIdle, noteIdle,
    insertIdentity, updateIdentity, deleteIdentity, rememberUnlink, forgetUnlink, insertFactor, updateFactor,
    deleteFactor, guardNoFactors, noteChange, lockAccount, lockPendings, hold, letGo, appendAudit,
  ]
}
