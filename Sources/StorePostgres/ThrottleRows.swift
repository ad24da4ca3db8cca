import Store

/// The throttles of one change, as read under its locks.
///
/// The store contract defines the counting (`ThrottleRecord.counting`), so it happens here. The rows are locked and
/// read before the change is written, so that no other transaction writes them in between. Notices use the same rows.
///
/// The counts of a caller never refuse a change, and nearly all of them only add one. Those are added by the last step
/// of the change, which saves a round trip and locks a row that many calls update for the COMMIT only. The step fails
/// if more than the number changes: if the row is missing, a window has ended, or the limit or its half is reached.
/// Then the change is made again with all rows locked first (`Attempt.lockingThrottles`).
final class ThrottleRows {
  /// In lock order.
  private let keys: [Digest]
  /// The counts that the last steps add.
  private let additions: [Digest: ThrottleCount]
  private var records: [Digest: ThrottleRecord] = [:]
  /// The per-caller limits of which the change uses up half.
  private(set) var halfUsedLimits: [ThrottleKind] = []

  /// Marks a row that exists only to be locked. It is gone or replaced when the transaction ends.
  private static let placeholderEnd = Timestamp(millis: .min)

  /// - Parameter locksAll: Whether no count is added without its lock.
  init(_ change: Change, locksAll: Bool) {
    let all = change.writes.flatMap(\.throttleKeys)
    var additions: [Digest: ThrottleCount] = [:]
    if !locksAll {
      for case .throttle(.count(let count)) in change.writes where count.mayBeAdded { additions[count.key] = count }
    }
    self.additions = additions.filter { key, _ in all.count { $0 == key } == 1 }
    self.keys = Set(all).subtracting(self.additions.keys)
      .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }

  var isEmpty: Bool { keys.isEmpty }

  /// One step for each key.
  var locks: [BoundStatement] { keys.map { BoundStatement(.lockThrottle).bind($0).bind(ThrottleRows.placeholderEnd) } }

  func read(_ answers: ArraySlice<QueryResult>) throws(RequestError) {
    for answer in answers {
      guard answer.step() else { throw .corrupt("a throttle cannot be locked") }
      let record: ThrottleRecord = try answer.record()
      if record.expiresAt != ThrottleRows.placeholderEnd { records[record.key] = record }
    }
  }

  func add(_ write: ThrottleWrite, to script: Script) {
    switch write {
    case .count(let count) where additions[count.key] != nil: break
    case .count(let count):
      let old = records[count.key]
      if count.refusesBlocked, let until = old?.block(at: count.at) {
        return script.refuse(.throttled(count.kind, until: until))
      }
      let record = ThrottleRecord.counting(count, after: old)
      records[count.key] = record
      if record.isAlarm(after: count) { halfUsedLimits.append(count.kind) }
      script.add(.updateThrottle) { $0.bind(record) }
    case .reset(let key, let kind, let at, let liftsBlock):
      if !liftsBlock, let until = records[key]?.block(at: at) {
        return script.refuse(.throttled(kind, until: until))
      }
      records[key] = nil
      script.add(.deleteThrottle) { $0.bind(key) }
    }
  }

  /// Adds the last steps, in one order.
  func addAdditions(to script: Script) {
    for count in additions.values.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }) {
      let limit = min(count.rule.countMax, count.rule.countAgainMax)
      script.add(.addToThrottle) {
        $0.bind(count.key).bind(count.at).bind(count.rule.windowMillis).bind(limit)
          .bind(count.warnsAtHalf ? count.rule.countMax / 2 : -1)
      }
    }
  }

  /// Returns the rows after one more notice, in the order of the counts. nil: the limit is reached.
  func counting(_ limits: NoticeLimits) -> [ThrottleRecord]? {
    let counts = [limits.count] + limits.otherCounts
    if counts.contains(where: { limits.isReached(records[$0.key]) }) { return nil }
    return counts.map { count in
      let old = records[count.key]
      let record = ThrottleRecord.counting(count, after: old)
      records[count.key] = count.rule.countMax > 0 ? record : old
      return record
    }
  }
}

extension Write {
  /// The keys of the throttles that the write reads.
  fileprivate var throttleKeys: [Digest] {
    switch self {
    case .throttle(.count(let count)): [count.key]
    case .throttle(.reset(let key, _, _, _)): [key]
    case .delivery(.enqueueNotice(_, let limits)): [limits.count.key] + limits.otherCounts.map(\.key)
    case .delivery(.enqueue), .delivery(.claim), .delivery(.remove), .delivery(.removeSent), .delivery(.noteError),
      .delivery(.bury), .delivery(.requeue):
      []
    case .account, .identity, .unlink, .factor, .session, .pending, .signingKey, .record, .failure: []
    }
  }
}

extension ThrottleCount {
  /// Whether the count ends with its window and refuses nothing.
  fileprivate var mayBeAdded: Bool { kind.isPerCaller && !refusesBlocked && rule.blockMillis == 0 }
}

extension Statement {
  /// Counts as `ThrottleRecord.counting` does for a row that it only adds one to.
  static let addToThrottle = guarding(
    "add_to_throttle",
    """
    UPDATE throttles SET count = count + 1
    WHERE key = $1 AND blocked_until IS NULL AND since <= $2 AND expires_at > $2 AND since + $3 > $2
      AND count + 1 < $4 AND count + 1 <> $5
    RETURNING 1
    """)
  /// Creates a missing row, because only an existing row can be locked.
  static let lockThrottle = Statement(
    "lock_throttle",
    """
    INSERT INTO throttles AS t (key, count, since, blocks, blocked_until, expires_at) VALUES ($1, 0, 0, 0, NULL, $2)
    ON CONFLICT (key) DO UPDATE SET count = t.count
    RETURNING \(ThrottleRecord.columns.names(of: "t"))
    """)
  /// Recreates the row if an earlier write of the same change has deleted it.
  static let updateThrottle = Statement(
    "update_throttle",
    """
    \(ThrottleRecord.insert("$"))
    ON CONFLICT (key) DO UPDATE SET \(ThrottleRecord.columns.takingOver(except: "key"))
    """)
  static let deleteThrottle = Statement("delete_throttle", "DELETE FROM throttles WHERE key = $1")

  static let ofThrottles = [lockThrottle, updateThrottle, deleteThrottle, addToThrottle]
}
