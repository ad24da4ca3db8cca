import Store

/// The statements that find an account within a lookup, so that none waits for the result of another.
struct AccountSelector {
  /// The statements for the account's own row and for its dependents.
  let account, dependent: Statement

  /// - Parameter owner: a query that returns the account's id.
  private init(_ name: String, _ owner: String) {
    account = Statement(
      "account_by_" + name, AccountRecord.select("WHERE id = (\(owner))"))
    dependent = Statement(
      "dependents_by_" + name,
      "WITH owner AS (\(owner)) " + DependentRow.select(ofAccounts: "= (SELECT id FROM owner)"))
  }

  static let id = AccountSelector("id", "SELECT $1::text AS id")
  static let email = AccountSelector("email", "SELECT id FROM accounts WHERE email = $1")
  static let phoneNumber = AccountSelector("phone_number", "SELECT id FROM accounts WHERE phone_number = $1")
  static let identity = AccountSelector(
    "identity", "SELECT account_id AS id FROM identities WHERE provider_id = $1 AND subject = $2")
  static let transfer = AccountSelector(
    "transfer", "SELECT account_id AS id FROM identities WHERE provider_id = $1 AND transfer_subject = $2")
  static let session = AccountSelector("session", "SELECT account_id AS id FROM sessions WHERE id = $1")
  static let pending = AccountSelector("pending", "SELECT account_id AS id FROM pendings WHERE digest = $1")

  fileprivate static let all = [id, email, phoneNumber, identity, transfer, session, pending]
}

extension Statement {
  static let closedAccount = Statement(
    "closed_account", ClosedAccountRecord.select("WHERE id = $1"))

  static let methodsByEmail = Statement(
    "sign_in_methods_by_email",
    """
    SELECT \(SignInMethodsRecord.columns) FROM accounts AS a LEFT JOIN identities AS i ON i.account_id = a.id
    WHERE a.email = $1 ORDER BY i.linked_at, i.provider_id, i.subject
    """)
  static let methodsByLinkedEmail = Statement(
    "sign_in_methods_by_linked_email",
    """
    SELECT \(SignInMethodsRecord.columns) FROM accounts AS a LEFT JOIN identities AS i ON i.account_id = a.id
    WHERE a.id = coalesce(
      (SELECT id FROM accounts WHERE email = $1),
      (SELECT account_id FROM identities WHERE email = $1 AND tier >= 1 ORDER BY linked_at, account_id LIMIT 1))
    ORDER BY i.linked_at, i.provider_id, i.subject
    """)

  static let session = Statement("session", SessionRecord.select("WHERE id = $1"))
  private static let open = "WHERE account_id = $1 AND closed_at IS NULL AND ends_at > $2"
  static let openSessionCount = Statement("open_session_count", "SELECT count(*) FROM sessions \(open)")
  static let openSessions = Statement(
    "open_sessions", SessionRecord.select("\(open) ORDER BY created_at DESC, id DESC LIMIT $3"))
  /// The device of an account, else of the owner of an email address, else of a phone number, else of a session.
  static let device = Statement(
    "device",
    """
    SELECT 1::bigint FROM sessions
    WHERE account_id = coalesce(
        $1,
        (SELECT id FROM accounts WHERE email = $2),
        (SELECT id FROM accounts WHERE phone_number = $3),
        (SELECT a.id FROM sessions AS s JOIN accounts AS a ON a.id = s.account_id WHERE s.id = $4))
      AND device_id = $5 AND (closed_reason IS NULL OR closed_reason = 'signed_out' AND closed_at > coalesce(
        (SELECT tokens_valid_after FROM accounts WHERE accounts.id = account_id), 0)) LIMIT 1
    """)

  static let pending = Statement("pending", PendingRecord.select("WHERE digest = $1"))
  static let idempotency = Statement("idempotency", IdempotencyRecord.select("WHERE key = $1"))
  static let spentToken = Statement("spent_token", "SELECT 1::bigint FROM spent_tokens WHERE digest = $1")
  static let signingKeys = Statement(
    "signing_keys", SigningKeyRecord.select("ORDER BY active_from, key_id"))
  static let throttle = Statement("throttle", ThrottleRecord.select("WHERE key = $1"))
  static let importKey = Statement("import_key", ImportKeyRecord.select("WHERE id = $1"))

  static let dueDeliveries = Statement(
    "due_deliveries",
    DeliveryRecord.select(
      """
      WHERE buried_at IS NULL AND channel = $1 AND priority = $2 AND next_attempt_at <= $3
      ORDER BY next_attempt_at LIMIT $4
      """))
  static let oldestDelivery = Statement(
    "oldest_delivery", "SELECT created_at FROM deliveries WHERE buried_at IS NULL ORDER BY created_at LIMIT 1")

  private static let pageOwners = "SELECT id FROM accounts WHERE id > $1 ORDER BY id LIMIT $2"
  static let page = Statement("page", AccountRecord.select("WHERE id > $1 ORDER BY id LIMIT $2"))
  static let pageDependent = Statement(
    "page_dependents", "WITH owner AS (\(pageOwners)) " + DependentRow.select(ofAccounts: "IN (SELECT id FROM owner)"))
  static let idleAnonymous = Statement(
    "idle_anonymous",
    """
    SELECT \(IdleAccount.columns) FROM accounts AS a WHERE a.anonymous AND a.idle_since < $1
    ORDER BY a.idle_since LIMIT $2
    """)

  private static func rowsPage(by column: String) -> String {
    "WHERE account_id = $1 AND \(column) > $2 ORDER BY \(column) LIMIT $3"
  }
  static let everySessionOfAccount = Statement(
    "every_session_of_account", SessionRecord.select(rowsPage(by: "id")))
  static let everyPendingOfAccount = Statement(
    "every_pending_of_account", PendingRecord.select(rowsPage(by: "digest")))
  static let everyFailureOfAccount = Statement(
    "every_failure_of_account", FailureRecord.select(rowsPage(by: "key")))
  static let everyDeliveryOfAccount = Statement(
    "every_delivery_of_account", DeliveryRecord.select(rowsPage(by: "id")))
  static let everySentMessageOfAccount = Statement(
    "every_sent_message_of_account", SentMessageRecord.select(rowsPage(by: "id")))

  static let events = Statement("events", AuditRecord.select("WHERE position > $1 ORDER BY position LIMIT $2"))
  /// The newest position, and whether rows without a position exist.
  static let lastEvent = Statement(
    "last_event", "SELECT last, EXISTS (SELECT 1 FROM audit_unplaced) FROM audit_position WHERE id = 1")

  static let lookUps =
    AccountSelector.all.flatMap { [$0.account, $0.dependent] } + [
      closedAccount, methodsByEmail, methodsByLinkedEmail, session, openSessionCount, openSessions, device, pending,
      idempotency, spentToken, signingKeys, throttle, importKey, dueDeliveries, oldestDelivery, page,
      pageDependent, idleAnonymous, everySessionOfAccount, everyPendingOfAccount, everyFailureOfAccount,
      everyDeliveryOfAccount, everySentMessageOfAccount, events, lastEvent,
    ]
}
