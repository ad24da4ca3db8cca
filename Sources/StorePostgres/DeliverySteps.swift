import Store

extension Script {
  func add(_ write: DeliveryWrite) {
    switch write {
    case .enqueue(let delivery, let queueMax):
      hold(.waiting, "", atMost: queueMax, else: .limited(.deliveries))
      add(.insertDelivery) { $0.bind(delivery) }
    case .enqueueNotice(let notice, let limits): enqueue(notice, within: limits)
    case .claim(let id, let attempts, let nextAttemptAt):
      add(.claimDelivery, refusing: .stale) { $0.bind(id).bind(attempts).bind(nextAttemptAt) }
    case .remove(let id): add(.removeDelivery) { $0.bind(id) }
    case .removeSent(let id, let at, let keptUntil):
      add(.keepSentMessage) { $0.bind(id).bind(at).bind(keptUntil) }
      add(.removeDelivery) { $0.bind(id) }
    case .noteError(let id, let error): add(.noteDeliveryError) { $0.bind(id).bind(error) }
    case .requeue(let id, let at, let queueMax):
      // A message that waits already takes no place.
      add(.lockDelivery, refusing: .stale) { $0.bind(id).bind(at) }
      add(.requeueCounts, refusing: .limited(.deliveries)) { $0.bind(id).bind(queueMax) }
      add(.requeueDelivery) { $0.bind(id).bind(at) }
    case .bury(let id, let at, let reason, let keptUntil):
      add(.buryDelivery) { $0.bind(id).bind(at).bind(reason).bind(keptUntil) }
    }
  }

  /// The change holds the lock of the row that counts the notice, so no equal notice is queued at the same time.
  private func enqueue(_ notice: DeliveryRecord, within limits: NoticeLimits) {
    guard let counted = throttles.counting(limits) else {
      return addNotice(.mergeNotice, isOverLimit: true) { $0.bind(notice.mergeKey).bind(notice.expiresAt) }
    }
    addNotice(.enqueueNotice, isOverLimit: false) {
      $0.bind(notice).bind(limits.queueMax).bind(limits.count.rule.countMax > 0).bind(counted[0])
    }
    guard limits.count.rule.countMax > 0 else { return }
    for other in counted.dropFirst() { add(.countNotice) { $0.bind(other).bind(notice.id) } }
  }
}

extension Statement {
  static let insertDelivery = Statement("insert_delivery", DeliveryRecord.insert("$"))
  /// Returns how many equal notices waited (0 or 1), and NULL.
  static let mergeNotice = Statement(
    "merge_notice",
    """
    WITH merged AS (
      UPDATE deliveries SET expires_at = greatest(expires_at, $2) WHERE merge_key = $1 AND buried_at IS NULL
      RETURNING 1)
    SELECT count(*), NULL::bigint FROM merged
    """)
  /// Returns how many equal notices waited (0 or 1), and how many messages wait now; NULL: the notice was not queued.
  static let enqueueNotice: Statement = {
    let (delivery, throttle) = (DeliveryRecord.columns, ThrottleRecord.columns)
    let values = DeliveryRecord.typedPlaceholders
    func value(_ name: String) -> String { values.first { $0.name == name }?.placeholder ?? "" }
    let (queueMax, counts) = ("$\(delivery.count + 1)::bigint", "$\(delivery.count + 2)::boolean")
    let counted = throttle.enumerated().map { "$\(delivery.count + 3 + $0)::\($1.kind.type)" }
    return Statement(
      "enqueue_notice",
      """
      WITH merged AS (
        UPDATE deliveries SET expires_at = greatest(expires_at, \(value("expires_at")))
        WHERE merge_key = \(value("merge_key")) AND buried_at IS NULL RETURNING 1
      ), seen AS (
        SELECT \(CountParts.sum(CountScope.waiting.literal, "''")) AS held
      ), held AS (
        INSERT INTO count_parts AS c (scope, name, part, held)
          SELECT \(CountScope.waiting.literal), '', \(CountParts.own), 1 FROM seen
          WHERE seen.held < \(queueMax) AND NOT EXISTS (SELECT 1 FROM merged)
        ON CONFLICT (scope, name, part) DO UPDATE SET held = c.held + 1 RETURNING (SELECT held + 1 FROM seen) AS held
      ), queued AS (
        INSERT INTO deliveries (\(delivery.names)) SELECT \(values.map(\.placeholder).joined(separator: ", "))
        WHERE EXISTS (SELECT 1 FROM held) RETURNING 1
      ), counted AS (
        INSERT INTO throttles (\(throttle.names)) SELECT \(counted.joined(separator: ", "))
          WHERE \(counts) AND EXISTS (SELECT 1 FROM queued)
        ON CONFLICT (key) DO UPDATE SET \(throttle.takingOver(except: "key"))
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM merged), (SELECT max(held) FROM held)
      """)
  }()
  /// Counts a notice under another key, if the notice was queued.
  static let countNotice: Statement = {
    let columns = ThrottleRecord.columns
    let values = columns.enumerated().map { "$\($0 + 1)::\($1.kind.type)" }.joined(separator: ", ")
    return Statement(
      "count_notice",
      """
      INSERT INTO throttles (\(columns.names)) SELECT \(values)
        WHERE EXISTS (SELECT 1 FROM deliveries WHERE id = $\(columns.count + 1))
      ON CONFLICT (key) DO UPDATE SET \(columns.takingOver(except: "key"))
      """)
  }()
  static let claimDelivery = guarding(
    "claim_delivery",
    """
    UPDATE deliveries SET attempts = attempts + 1, next_attempt_at = $3
    WHERE id = $1 AND attempts = $2 AND buried_at IS NULL RETURNING 1
    """)
  static let removeDelivery = Statement(
    "remove_delivery",
    """
    WITH gone AS (DELETE FROM deliveries WHERE id = $1 RETURNING buried_at)
    \(CountParts.add(
      """
      SELECT CASE WHEN buried_at IS NULL THEN \(CountScope.waiting.literal) ELSE \(CountScope.buried.literal) END,
        '', -1 FROM gone
      """))
    """)
  static let removeDeliveries = Statement(
    "remove_deliveries",
    """
    WITH gone AS (DELETE FROM deliveries WHERE account_id = $1 RETURNING buried_at)
    \(CountParts.add(
      """
      SELECT \(CountScope.waiting.literal), '', -count(*) FROM gone WHERE buried_at IS NULL HAVING count(*) > 0
      UNION ALL SELECT \(CountScope.buried.literal), '', -count(*) FROM gone WHERE buried_at IS NOT NULL
        HAVING count(*) > 0
      """))
    """)
  static let buryDelivery = Statement(
    "bury_delivery",
    """
    WITH hit AS (
      UPDATE deliveries SET buried_at = $2, buried_reason = $3, kept_until = $4,
        sealed = CASE WHEN expires_at > $2 THEN sealed ELSE '' END
      WHERE id = $1 AND buried_at IS NULL RETURNING 1)
    \(CountParts.add(
      """
      SELECT \(CountScope.waiting.literal), '', -1 FROM hit
      UNION ALL SELECT \(CountScope.buried.literal), '', 1 FROM hit
      """))
    """)
  /// Rows of messages to no account, and of earlier versions, name no account.
  static let keepSentMessage = Statement(
    "keep_sent_message",
    """
    INSERT INTO sent_messages
      (id, account_id, channel, kind, masked_recipient, created_at, attempts, sent_at, kept_until)
    SELECT id, account_id, channel, kind, coalesce(masked_recipient, ''), created_at, attempts, $2::bigint, $3::bigint
    FROM deliveries WHERE id = $1 AND account_id IS NOT NULL AND buried_at IS NULL
    """)
  static let noteDeliveryError = Statement(
    "note_delivery_error", "UPDATE deliveries SET last_error = $2 WHERE id = $1 AND buried_at IS NULL")
  /// Locks a message that can be sent at this time.
  static let lockDelivery = guarding(
    "lock_delivery",
    """
    SELECT 1 FROM deliveries WHERE id = $1 AND expires_at > $2 AND (buried_at IS NULL OR sealed <> '') FOR UPDATE
    """)
  /// Moves a given-up message from one count to the other. Fails as a guard if no more may wait.
  static let requeueCounts = Statement(
    "requeue_counts",
    """
    WITH buried AS (
      SELECT \(CountParts.sum(CountScope.waiting.literal, "''")) AS held FROM deliveries
      WHERE id = $1 AND buried_at IS NOT NULL
    ), moved AS (
      \(CountParts.add(
        """
        SELECT \(CountScope.waiting.literal), '', 1 FROM buried WHERE held < $2
        UNION ALL SELECT \(CountScope.buried.literal), '', -1 FROM buried WHERE held < $2
        """))
      RETURNING 1
    )
    SELECT 1::bigint / CASE WHEN EXISTS (SELECT 1 FROM buried) AND NOT EXISTS (SELECT 1 FROM moved) THEN 0 ELSE 1 END
    """)
  static let requeueDelivery = Statement(
    "requeue_delivery",
    """
    UPDATE deliveries SET next_attempt_at = $2, attempts = CASE WHEN buried_at IS NULL THEN attempts ELSE 0 END,
      merge_key = CASE WHEN buried_at IS NULL THEN merge_key END, buried_at = NULL, buried_reason = NULL,
      kept_until = NULL
    WHERE id = $1
    """)
  /// Removes the content of given-up messages that have expired.
  static let sweepContents = Statement(
    "sweep_contents",
    """
    UPDATE deliveries SET sealed = '' WHERE id IN (
      SELECT id FROM deliveries WHERE buried_at IS NOT NULL AND sealed <> '' AND expires_at <= $1
      ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    """)
  /// Removes the given-up messages whose retention has ended. Only given-up messages have a `kept_until`.
  static let sweepDeliveries = Statement(
    "sweep_deliveries",
    """
    WITH gone AS (
      DELETE FROM deliveries WHERE id IN (
        SELECT id FROM deliveries WHERE kept_until <= $1 ORDER BY kept_until LIMIT $2 FOR UPDATE SKIP LOCKED)
      RETURNING 1
    ), counted AS (
      \(CountParts.add(
        "SELECT \(CountScope.buried.literal), '', -count(*) FROM gone HAVING count(*) > 0"))
      RETURNING 1
    )
    SELECT count(*) FROM gone
    """)

  static let ofDeliveries = [
    insertDelivery, mergeNotice, enqueueNotice, countNotice, claimDelivery, removeDelivery, removeDeliveries,
    buryDelivery, sweepDeliveries, keepSentMessage, noteDeliveryError, lockDelivery, requeueCounts, requeueDelivery,
    sweepContents,
  ]
}
