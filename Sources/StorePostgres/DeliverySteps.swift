import Store

extension Script {
  func addDeliveryWrite(_ write: Write) {
    switch write {
    case .enqueueDelivery(let delivery, let queueMax):
      hold(.waiting, "", atMost: queueMax, else: .limited(.deliveries))
      add(.insertDelivery) {
        $0.bind(delivery.id).bind(delivery.channel.rawValue).bind(delivery.kind).bind(delivery.sealed)
          .bind(delivery.createdAt).bind(delivery.expiresAt).bind(delivery.attempts).bind(delivery.nextAttemptAt)
          .bind(delivery.buriedAt).bind(delivery.buriedReason)
      }
    case .claimDelivery(let id, let attempts, let nextAttemptAt):
      add(.claimDelivery, refusing: .stale) { $0.bind(id).bind(attempts).bind(nextAttemptAt) }
    case .removeDelivery(let id): add(.removeDelivery) { $0.bind(id) }
    case .buryDelivery(let id, let at, let reason, let keptUntil):
      // Counted once: what is buried is not buried again, and the row is locked from the first statement on.
      add(.startBuriedCount)
      add(.buryDelivery) { $0.bind(id).bind(at).bind(reason).bind(keptUntil) }
    default: preconditionFailure("no write of a message")
    }
  }
}

extension Statement {
  static let insertDelivery = Statement(
    "insert_delivery",
    """
    INSERT INTO deliveries (id, channel, kind, sealed, created_at, expires_at, attempts, next_attempt_at, buried_at,
      buried_reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
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
  /// What is buried was kept long enough; what waits is not kept until a moment.
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
    insertDelivery, claimDelivery, removeDelivery, startBuriedCount, buryDelivery, sweepDeliveries,
  ]
}
