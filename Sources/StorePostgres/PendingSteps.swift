import Store

extension Script {
  func add(_ write: PendingWrite) {
    switch write {
    case .insert(let pending, let limits): insert(pending, within: limits)
    case .complete(let digest, let version, let at, let accountID, let sessionID):
      add(.completePending, refusing: .stale) {
        $0.bind(digest).bind(version).bind(at).bind(accountID).bind(sessionID)
      }
    case .countAttempt(let digest): add(.countPendingAttempt) { $0.bind(digest) }
    case .spendAttempt(let digest, let version):
      add(.spendPendingAttempt, refusing: .stale) { $0.bind(digest).bind(version) }
    case .reseal(let digest, let version, let sealed):
      add(.resealPending, refusing: .stale) { $0.bind(digest).bind(version).bind(sealed) }
    case .deleteAll(let accountID, let except, let sparing):
      deletePendings(of: accountID, except: except, sparing: sparing)
    case .end(let purpose, let key, let createdAfter):
      add(.endPendings) {
        $0.bind(key.subject).bind(key.providerID).bind(purpose.rawValue).bind(createdAfter)
      }
    }
  }

  func deletePendings(of accountID: String, except: Digest?, sparing: [PendingPurpose]) {
    let spared = sparing.map { " \($0.rawValue) " }.joined()
    add(.deletePendings) { $0.bind(accountID).bind(except).bind(spared) }
  }

  private func insert(_ pending: PendingRecord, within limits: PendingLimits) {
    if !pending.accountID.isEmpty {
      add(.holdOfAccount, refusing: .limited(.account)) {
        $0.bind(pending.accountScope.rawValue).bind(pending.accountID).bind(limits.perAccountMax)
      }
    }
    addMakingRoom(for: pending.purpose) {
      $0.bind(pending.purpose.rawValue).bind(pending.caller.text).bind(pending.network?.bytes ?? [])
        .bind(limits.perCallerMax).bind(limits.totalMax)
    }
    hold(.caller, pending.quota, atMost: limits.perCallerMax, else: .limited(.caller))
    hold(.purpose, pending.purpose.rawValue, atMost: limits.totalMax, else: .limited(.total))
    hold(.total, "", atMost: .max, else: .limited(.total))
    if let network = pending.network { add(.countNetwork) { $0.bind(pending.quota).bind(network.bytes) } }
    add(.insertPending) { $0.bind(pending) }
  }
}

extension CountScope {
  /// The scope as an SQL string literal.
  var literal: String { "'\(rawValue)'" }

  /// `ofAccount` in SQL.
  static let ofAccountSQL = """
    CASE WHEN purpose = '\(PendingPurpose.link.rawValue)' AND tier = \(TrustTier.unverified.rawValue) \
    THEN \(unknown.literal) ELSE \(account.literal) END
    """
}

extension Statement {
  static let insertPending = Statement("insert_pending", PendingRecord.insert("$"))

  /// Completes a row. It stays, to answer a repeated completion, but no longer counts towards its account. A user who
  /// often signs in with a second factor completes one row each time.
  static let completePending = guarding(
    "complete_pending",
    """
    UPDATE pendings SET version = version + 1, completed_at = $3, completed_account_id = $4, completed_session_id = $5
    WHERE digest = $1 AND version = $2 AND completed_at IS NULL AND expires_at > $3 RETURNING 1
    """)
  /// Raises the version: a completion decided while an attempt was left must then decide again.
  static let countPendingAttempt = Statement(
    "count_pending_attempt",
    """
    UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
    WHERE digest = $1 AND attempts_left > 0
    """)
  static let spendPendingAttempt = guarding(
    "spend_pending_attempt",
    """
    UPDATE pendings SET version = version + 1, attempts_left = attempts_left - 1
    WHERE digest = $1 AND version = $2 AND attempts_left > 0 RETURNING 1
    """)
  static let resealPending = guarding(
    "reseal_pending",
    """
    UPDATE pendings SET version = version + 1, sealed = $3
    WHERE digest = $1 AND version = $2 AND completed_at IS NULL RETURNING 1
    """)

  /// Returns a statement that removes rows, subtracts them from their counts, and returns their number.
  private static func removing(_ name: String, _ condition: String) -> Statement {
    Statement(
      name,
      """
      WITH gone AS (
        DELETE FROM pendings WHERE \(condition)
        RETURNING purpose, purpose || ' ' || caller AS quota, network
      ), counted AS (
        \(CountParts.add(
          """
          SELECT \(CountScope.caller.literal), quota, -count(*) FROM gone GROUP BY quota
          UNION ALL SELECT \(CountScope.purpose.literal), purpose, -count(*) FROM gone GROUP BY purpose
          UNION ALL SELECT \(CountScope.total.literal), '', -count(*) FROM gone HAVING count(*) > 0
          """))
        RETURNING 1
      ), networks AS (
        SELECT quota, network, count(*) AS rows FROM gone WHERE network IS NOT NULL GROUP BY quota, network
      ), fewer AS (
        UPDATE pending_networks AS n SET held = n.held - networks.rows FROM networks
        WHERE n.quota = networks.quota AND n.network = networks.network AND n.held > networks.rows RETURNING 1
      ), emptied AS (
        DELETE FROM pending_networks AS n USING networks
        WHERE n.quota = networks.quota AND n.network = networks.network AND n.held <= networks.rows RETURNING 1
      )
      SELECT count(*) FROM gone
      """)
  }

  /// If the quota of the caller or the purpose is full: removes the newest row of the network that uses most of the
  /// caller's quota. Removes nothing if that is the network of the new row, or has no more rows than the new row's
  /// network would have.
  ///
  /// Changes in progress at the same time each remove a row of their own.
  ///
  /// Rows without a network are not counted in `pending_networks`, where a caller that passes no addresses would have
  /// one row for all its users. Here they are counted, up to the number that decides.
  static let makeRoom = removing(
    "make_room",
    """
    digest = (
      SELECT p.digest FROM pendings AS p
      WHERE p.purpose = $1 AND p.caller = $2
        AND (\(CountParts.sum(CountScope.caller.literal, "($1::text || ' ' || $2::text)")) >= $4
          OR \(CountParts.sum(CountScope.purpose.literal, "$1")) >= $5)
        AND coalesce(p.network, '') = (\(mostUsed))
      ORDER BY p.created_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
    """)
  private static let mostUsed = """
    WITH counted AS (
      SELECT network, held FROM pending_networks WHERE quota = $1::text || ' ' || $2::text
      ORDER BY held DESC LIMIT 1
    ), own AS (
      SELECT held FROM pending_networks WHERE quota = $1::text || ' ' || $2::text AND network = $3::bytea
      UNION ALL SELECT count(*) FROM pendings AS q
      WHERE $3::bytea = '' AND q.purpose = $1 AND q.caller = $2 AND coalesce(q.network, '') = ''
    ), unknown AS (
      SELECT count(*) AS held FROM (
        SELECT 1 FROM pendings AS q WHERE q.purpose = $1 AND q.caller = $2 AND coalesce(q.network, '') = ''
        LIMIT greatest(coalesce((SELECT held FROM counted), 0), coalesce((SELECT max(held) FROM own), 0)) + 2) AS few
    ), most AS (
      SELECT network, held FROM counted UNION ALL SELECT '', held FROM unknown ORDER BY held DESC LIMIT 1)
    SELECT network FROM most
    WHERE network <> $3::bytea AND held > 1 + coalesce((SELECT max(held) FROM own), 0)
    """
  static let countNetwork = Statement(
    "count_network",
    """
    INSERT INTO pending_networks AS n (quota, network, held) VALUES ($1, $2, 1)
    ON CONFLICT (quota, network) DO UPDATE SET held = n.held + 1
    """)
  static let deletePendings = removing(
    "delete_pendings",
    "account_id = $1 AND ($2::bytea IS NULL OR digest <> $2) AND strpos($3, ' ' || purpose || ' ') = 0")
  static let endPendings = removing(
    "end_pendings",
    "subject = $1 AND provider_id = $2 AND purpose = $3 AND ($4::bigint IS NULL OR created_at > $4)")
  static let sweepPendings = removing(
    "sweep_pendings",
    "digest IN (SELECT digest FROM pendings WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)"
  )

  static let ofPendings = [
    insertPending, completePending, countPendingAttempt, spendPendingAttempt, resealPending, deletePendings,
    endPendings, sweepPendings, makeRoom, countNetwork,
  ]
}
