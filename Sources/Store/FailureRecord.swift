/// Failed attempts of one hour that are alike, in one row, so that an attack cannot fill the store.
///
/// `key` is a digest of all fields by which rows differ, and of the hour.
package struct FailureRecord: Hashable, Sendable {
  package var key: Digest
  /// Empty: the attempts are about no known account.
  package var accountID: String
  /// A keyed digest of what the attempts named instead: an email address, a phone number or a provider. nil: the row
  /// belongs to an account, or the attempts named nothing.
  package var subject: Digest?
  /// The reason of the failure, as in `ErrorInfo.reason`.
  package var reason: String
  /// The method of the API, such as `SignIn`. Empty in a row of the remainder.
  package var call: String
  /// The sign-in method: `password`, `phone`, a provider id. Empty: unknown, or several.
  package var method: String
  /// The throttle that rejected the attempts. Empty: none, or several.
  package var limit: String
  /// Empty in a row of the remainder.
  package var caller: CallerName
  /// The /24 or /48 of the client. Empty: unknown, or several.
  package var network: String
  /// A keyed digest of the last device ID.
  package var device: Digest?
  package var count: Int
  package var firstAt: Timestamp
  package var lastAt: Timestamp
  /// The time from which a sweep removes the row.
  package var keptUntil: Timestamp

  package init(
    key: Digest, accountID: String, subject: Digest? = nil, reason: String, call: String = "", method: String = "",
    limit: String = "", caller: CallerName = CallerName(""), network: String = "", device: Digest? = nil,
    count: Int = 1,
    firstAt: Timestamp, lastAt: Timestamp, keptUntil: Timestamp
  ) {
    self.key = key
    self.accountID = accountID
    self.subject = subject
    self.reason = reason
    self.call = call
    self.method = method
    self.limit = limit
    self.caller = caller
    self.network = network
    self.device = device
    self.count = count
    self.firstAt = firstAt
    self.lastAt = lastAt
    self.keptUntil = keptUntil
  }

  package static let hourMillis: Int64 = 3_600_000

  /// The begin of the hour of the row's attempts.
  package var hour: Timestamp {
    Timestamp(millis: lastAt.millis - (lastAt.millis % FailureRecord.hourMillis))
  }
}

/// Attempts to add to the failures.
package struct FailureCount: Hashable, Sendable {
  package var record: FailureRecord
  /// The row that takes the attempts if their own row does not exist and the hour has no room for it.
  package var remainder: FailureRecord
  /// The number of rows of one account and hour, or of all attempts without an account, from which the hour has no
  /// room. Several servers that write at the same time may exceed it by one row each.
  package var rowsMax: Int

  package init(_ record: FailureRecord, remainder: FailureRecord, rowsMax: Int) {
    self.record = record
    self.remainder = remainder
    self.rowsMax = rowsMax
  }
}

/// A message that was sent, without its content.
package struct SentMessageRecord: Hashable, Sendable {
  package var id: String
  package var accountID: String
  package var channel: DeliveryChannel
  package var kind: String
  package var maskedRecipient: String
  package var createdAt: Timestamp
  package var attempts: Int
  package var sentAt: Timestamp
  /// The time from which a sweep removes the row.
  package var keptUntil: Timestamp

  package init(
    id: String, accountID: String, channel: DeliveryChannel, kind: String, maskedRecipient: String,
    createdAt: Timestamp, attempts: Int, sentAt: Timestamp, keptUntil: Timestamp
  ) {
    self.id = id
    self.accountID = accountID
    self.channel = channel
    self.kind = kind
    self.maskedRecipient = maskedRecipient
    self.createdAt = createdAt
    self.attempts = attempts
    self.sentAt = sentAt
    self.keptUntil = keptUntil
  }
}
