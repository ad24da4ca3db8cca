/// A unit of work. Its writes are applied in order, all or none. The first write that fails decides the outcome.
package struct Change: Hashable, Sendable {
  package var writes: [Write]

  package init(_ writes: [Write] = []) { self.writes = writes }
}

/// Limits on the number of pending rows.
package struct PendingLimits: Hashable, Sendable {
  /// The limit for rows from unverified clients (`CountScope.unknown`), and separately for all other rows.
  package var perAccountMax: Int
  /// The limit of one caller for one purpose.
  package var perCallerMax: Int
  /// The limit of all callers together for one purpose.
  package var totalMax: Int

  package init(perAccountMax: Int, perCallerMax: Int, totalMax: Int) {
    self.perAccountMax = perAccountMax
    self.perCallerMax = perCallerMax
    self.totalMax = totalMax
  }
}

package enum UniqueKey: Hashable, Sendable {
  case accountID
  case email
  case phoneNumber
  case identity
  case idempotency
  case spentToken
  case signingKey
}

/// The scope that has reached its limit.
package enum LimitedScope: Hashable, Sendable {
  // The pending rows of an account, of a caller for one purpose, and of all callers for one purpose.
  case account
  case caller
  case total
  /// The messages that wait to be sent.
  case deliveries
}

package enum Outcome: Hashable, Sendable {
  /// Durable.
  case committed
  /// A unique key exists already. Nothing was written.
  case conflict(UniqueKey)
  /// A guard failed: the data on which the decision is based has changed. Nothing was written.
  case stale
  /// A limit is reached. Nothing was written.
  case limited(LimitedScope)
  /// A throttle key is blocked. Nothing was written.
  case throttled(ThrottleKind, until: Timestamp)
  /// The call was cancelled before the change was applied. Nothing was written.
  case cancelled
}
