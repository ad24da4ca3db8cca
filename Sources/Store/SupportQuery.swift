/// The lookups for an administrator who helps a user. Each limit of 0 requests nothing.
package struct SupportQuery: Hashable, Sendable {
  package var accountID = ""
  /// The account's audit rows, newest first.
  package var events: EventsBefore?
  /// Rows of failures, in the order of the ranges, each newest first.
  package var failures: [FailuresBefore] = []
  /// The account's messages, newest first, and as many that were sent.
  package var messagesMax = 0
  /// The account's pending rows, newest first.
  package var pendingsMax = 0
  /// The account's sessions, ended ones included, newest first.
  package var sessionsMax = 0
  /// This message: `delivery` if it waits or was given up, otherwise the only one of `sentMessages`.
  package var deliveryID: String?

  package init() {}
}

/// A range of an account's audit rows, by falling position.
package struct EventsBefore: Hashable, Sendable {
  /// The position after the first.
  package var position: Int64
  package var rowsMax: Int

  package init(position: Int64 = .max, rowsMax: Int) {
    self.position = position
    self.rowsMax = rowsMax
  }
}

/// A range of failures, by falling time of the last attempt, then by falling key.
package struct FailuresBefore: Hashable, Sendable {
  package enum Owner: Hashable, Sendable {
    case account(String)
    case subject(Digest)
  }

  package var owner: Owner
  /// The place after the first row.
  package var lastAt: Timestamp
  package var key: Digest
  package var rowsMax: Int

  package init(
    of owner: Owner, before lastAt: Timestamp = Timestamp(millis: .max), key: Digest = FailuresBefore.lastKey,
    rowsMax: Int
  ) {
    self.owner = owner
    self.lastAt = lastAt
    self.key = key
    self.rowsMax = rowsMax
  }

  package static let lastKey = Digest([UInt8](repeating: 255, count: 32))
}

/// The result of a `SupportQuery`.
package struct SupportFacts: Hashable, Sendable {
  package var events: [AuditRecord] = []
  package var failures: [FailureRecord] = []
  /// The messages that wait or were given up.
  package var deliveries: [DeliveryRecord] = []
  package var sentMessages: [SentMessageRecord] = []
  package var pendings: [PendingRecord] = []
  package var sessions: [SessionRecord] = []
  package var delivery: DeliveryRecord?

  package init() {}
}
