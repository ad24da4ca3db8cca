/// By which road a message goes out.
package enum DeliveryChannel: String, Sendable, CaseIterable {
  case mail
  case textMessage = "text_message"
}

/// A mail or text message that waits to be sent, written in the transaction of what it tells of.
package struct DeliveryRecord: Hashable, Sendable {
  /// Random, time-ordered.
  package var id: String
  package var channel: DeliveryChannel
  /// The name of its template: what operators see of it.
  package var kind: String
  /// Recipient and contents, which may hold a code: AES-256-GCM under a key that is not in the database.
  package var sealed: [UInt8]
  package var createdAt: Timestamp
  /// From then on nobody waits for it: a code has expired.
  package var expiresAt: Timestamp
  package var attempts: Int
  package var nextAttemptAt: Timestamp
  /// Given up: kept for the operator, without its contents.
  package var buriedAt: Timestamp?
  package var buriedReason: String?
  /// From then on a sweep takes what is buried.
  package var keptUntil: Timestamp?

  package init(
    id: String, channel: DeliveryChannel, kind: String, sealed: [UInt8], createdAt: Timestamp, expiresAt: Timestamp
  ) {
    self.id = id
    self.channel = channel
    self.kind = kind
    self.sealed = sealed
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    attempts = 0
    nextAttemptAt = createdAt
  }
}

/// Which messages to send now.
package struct DueDeliveries: Hashable, Sendable {
  package var at: Timestamp
  /// Of each channel, so that those of one which is slow keep none of another waiting.
  package var rowsMax: [DeliveryChannel: Int]

  package init(at: Timestamp, rowsMax: [DeliveryChannel: Int]) {
    self.at = at
    self.rowsMax = rowsMax
  }
}

/// The queue of messages as one look finds it.
package struct DeliveryQueue: Hashable, Sendable {
  /// Those whose next attempt is due, one channel after the other, of each the longest due first.
  package var due: [DeliveryRecord]
  /// All that wait, those included.
  package var waitingCount: Int
  /// Those that are kept after they were given up.
  package var buriedCount: Int
  /// Of the one that waits longest.
  package var oldestCreatedAt: Timestamp?

  package init(
    due: [DeliveryRecord] = [], waitingCount: Int = 0, buriedCount: Int = 0, oldestCreatedAt: Timestamp? = nil
  ) {
    self.due = due
    self.waitingCount = waitingCount
    self.buriedCount = buriedCount
    self.oldestCreatedAt = oldestCreatedAt
  }
}
