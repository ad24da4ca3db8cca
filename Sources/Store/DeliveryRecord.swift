/// The transport of a message.
package enum DeliveryChannel: String, Sendable, CaseIterable {
  case mail
  case textMessage = "text_message"
}

/// How urgent a message is. In each channel, messages of an earlier case are sent first.
package enum DeliveryPriority: Int, Sendable, CaseIterable {
  /// A code or a link that a user waits for.
  case code = 0
  /// Reports a change of an account.
  case notice = 1
}

/// The messages of one channel with one priority: the unit in which due messages are looked up and attempts counted.
package struct DeliveryClass: Hashable, Sendable {
  package var channel: DeliveryChannel
  package var priority: DeliveryPriority

  package init(_ channel: DeliveryChannel, _ priority: DeliveryPriority) {
    self.channel = channel
    self.priority = priority
  }

  /// By channel, the urgent ones first.
  package static let all = DeliveryChannel.allCases.flatMap { channel in
    DeliveryPriority.allCases.map { DeliveryClass(channel, $0) }
  }
}

/// An email or text message that waits to be sent, written in the transaction of the change that it reports.
package struct DeliveryRecord: Hashable, Sendable {
  /// Random, time-ordered.
  package var id: String
  package var channel: DeliveryChannel
  /// The name of its template, which operators see.
  package var kind: String
  package var priority = DeliveryPriority.code
  /// Equal for notices with the same content and recipient. At most one of them waits. nil: never merged.
  package var mergeKey: Digest?
  /// Recipient and content, which may include a code, encrypted with AES-256-GCM under a key that is not in the
  /// database.
  package var sealed: [UInt8]
  package var createdAt: Timestamp
  /// The time from which the message is useless, for example because its code has expired.
  package var expiresAt: Timestamp
  package var attempts: Int
  package var nextAttemptAt: Timestamp
  /// When the message was given up. It is kept for the operator without its content.
  package var buriedAt: Timestamp?
  package var buriedReason: String?
  /// The time from which a sweep removes a given-up message.
  package var keptUntil: Timestamp?
  /// The account whose user receives the message. nil: none, or queued by an earlier version.
  package var accountID: String?
  /// The recipient, masked for administrators.
  package var maskedRecipient: String?
  /// Why the last attempt failed.
  package var lastError: String?

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

  package var deliveryClass: DeliveryClass { DeliveryClass(channel, priority) }
}

/// Limits on notices.
package struct NoticeLimits: Hashable, Sendable {
  /// Counts each notice that is queued. While its key is blocked, no notice is queued.
  package var count: ThrottleCount
  /// The same count under other keys. Each has its row, and each row has the limit.
  package var otherCounts: [ThrottleCount]
  /// The number of waiting messages, of any kind, from which no notice is queued.
  package var queueMax: Int

  package init(count: ThrottleCount, otherCounts: [ThrottleCount] = [], queueMax: Int) {
    self.count = count
    self.otherCounts = otherCounts
    self.queueMax = queueMax
  }

  /// Whether the account has reached its limit.
  package func isReached(_ counted: ThrottleRecord?) -> Bool {
    count.rule.countMax > 0 && counted?.block(at: count.at) != nil
  }
}

/// Why a notice was not queued.
package enum UnqueuedNotice: Hashable, Sendable {
  /// An equal notice waits.
  case merged
  /// The account has reached its limit.
  case overLimit
  /// The queue has no room for notices.
  case queueFull
}

/// Which messages to send now.
package struct DueDeliveries: Hashable, Sendable {
  package var at: Timestamp
  /// The limit for each class: slow or many messages of one class delay no other class.
  package var rowsMax: [DeliveryClass: Int]

  package init(at: Timestamp, rowsMax: [DeliveryClass: Int]) {
    self.at = at
    self.rowsMax = rowsMax
  }
}

/// The message queue at the time of one lookup.
package struct DeliveryQueue: Hashable, Sendable {
  /// The messages whose next attempt is due, in the order of `DeliveryClass.all`. In each class, the longest due come
  /// first.
  package var due: [DeliveryRecord]
  /// All waiting messages, including the due ones.
  package var waitingCount: Int
  /// The given-up messages still kept.
  package var buriedCount: Int
  /// The creation time of the oldest waiting message.
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
