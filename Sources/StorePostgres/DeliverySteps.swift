import Store

extension Script {
  func add(_ write: DeliveryWrite) {
    switch write {
    case .enqueue(let delivery, let queueMax):
      hold(.waiting, "", atMost: queueMax, else: .limited(.deliveries))
      add(.insertDelivery) { bind(delivery, to: $0) }
    case .enqueueNotice(let notice, let limits): enqueue(notice, within: limits)
    case .claim(let id, let attempts, let nextAttemptAt):
      add(.claimDelivery, refusing: .stale) { $0.bind(id).bind(attempts).bind(nextAttemptAt) }
    case .remove(let id): add(.removeDelivery) { $0.bind(id) }
    case .bury(let id, let at, let reason, let keptUntil):
      // A message is counted once: it cannot be given up again, and the row is locked from the first statement on.
      add(.startBuriedCount)
      add(.buryDelivery) { $0.bind(id).bind(at).bind(reason).bind(keptUntil) }
    }
  }

  private func bind(_ delivery: DeliveryRecord, to step: BoundStatement) -> BoundStatement {
    step.bind(delivery.id).bind(delivery.channel.rawValue).bind(delivery.kind).bind(delivery.sealed)
      .bind(delivery.createdAt).bind(delivery.expiresAt).bind(delivery.attempts).bind(delivery.nextAttemptAt)
      .bind(delivery.priority.rawValue).bind(delivery.mergeKey)
  }

  /// The change holds the lock of the row that counts the notice, so no equal notice is queued at the same time.
  private func enqueue(_ notice: DeliveryRecord, within limits: NoticeLimits) {
    guard let counted = throttles.counting(limits) else {
      return addNotice(.mergeNotice, isOverLimit: true) { $0.bind(notice.mergeKey).bind(notice.expiresAt) }
    }
    addNotice(.enqueueNotice, isOverLimit: false) {
      bind(notice, to: $0).bind(limits.queueMax).bind(limits.count.rule.countMax > 0).bind(counted.key)
        .bind(counted.count).bind(counted.since).bind(counted.blocks).bind(counted.blockedUntil)
        .bind(counted.expiresAt)
    }
  }
}

extension Statement {
  static let insertDelivery = Statement(
    "insert_delivery",
    """
    INSERT INTO deliveries (id, channel, kind, sealed, created_at, expires_at, attempts, next_attempt_at, priority,
      merge_key)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    """)
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
  static let enqueueNotice = Statement(
    "enqueue_notice",
    """
    WITH merged AS (
      UPDATE deliveries SET expires_at = greatest(expires_at, $6::bigint)
      WHERE merge_key = $10::bytea AND buried_at IS NULL RETURNING 1
    ), held AS (
      INSERT INTO pending_counts AS c (scope, name, held)
        SELECT \(CountScope.waiting.literal), '', 1 WHERE NOT EXISTS (SELECT 1 FROM merged)
      ON CONFLICT (scope, name) DO UPDATE SET held = c.held + 1 WHERE c.held < $11::bigint RETURNING c.held
    ), queued AS (
      INSERT INTO deliveries (id, channel, kind, sealed, created_at, expires_at, attempts, next_attempt_at, priority,
        merge_key)
      SELECT $1::text, $2::text, $3::text, $4::bytea, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint,
        $10::bytea
      WHERE EXISTS (SELECT 1 FROM held) RETURNING 1
    ), counted AS (
      INSERT INTO throttles (key, count, since, blocks, blocked_until, expires_at)
        SELECT $13::bytea, $14::bigint, $15::bigint, $16::bigint, $17::bigint, $18::bigint
        WHERE $12::boolean AND EXISTS (SELECT 1 FROM queued)
      ON CONFLICT (key) DO UPDATE SET count = excluded.count, since = excluded.since, blocks = excluded.blocks,
        blocked_until = excluded.blocked_until, expires_at = excluded.expires_at
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM merged), (SELECT max(held) FROM held)
    """)
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
    UPDATE pending_counts AS c SET held = c.held - 1 FROM gone
    WHERE c.name = '' AND c.scope = CASE WHEN gone.buried_at IS NULL
      THEN \(CountScope.waiting.literal) ELSE \(CountScope.buried.literal) END
    """)
  static let startBuriedCount = Statement(
    "start_buried_count",
    """
    INSERT INTO pending_counts (scope, name, held) VALUES (\(CountScope.buried.literal), '', 0)
    ON CONFLICT (scope, name) DO NOTHING
    """)
  static let buryDelivery = Statement(
    "bury_delivery",
    """
    WITH hit AS (
      UPDATE deliveries SET buried_at = $2, buried_reason = $3, kept_until = $4, sealed = ''
      WHERE id = $1 AND buried_at IS NULL RETURNING 1)
    UPDATE pending_counts AS c
    SET held = CASE WHEN c.scope = \(CountScope.waiting.literal) THEN c.held - 1 ELSE c.held + 1 END
    FROM hit WHERE c.name = '' AND c.scope IN (\(CountScope.waiting.literal), \(CountScope.buried.literal))
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
      UPDATE pending_counts SET held = held - (SELECT count(*) FROM gone)
      WHERE scope = \(CountScope.buried.literal) AND name = '' AND (SELECT count(*) FROM gone) > 0 RETURNING 1
    )
    SELECT count(*) FROM gone
    """)

  static let ofDeliveries = [
    insertDelivery, mergeNotice, enqueueNotice, claimDelivery, removeDelivery, startBuriedCount, buryDelivery,
    sweepDeliveries,
  ]
}
