package import Store

/// A message to the user of an account, without its content.
package struct AccountMessage: Hashable, Sendable {
  package enum State: Hashable, Sendable {
    /// - Parameter error: why the last attempt failed; nil: there was none, or it is in progress.
    case waiting(nextAttemptAt: Timestamp, error: String?)
    case sent(at: Timestamp)
    /// - Parameter canResend: whether its content is still kept.
    case givenUp(at: Timestamp, reason: String, canResend: Bool)
  }

  package var id: String
  package var channel: DeliveryChannel
  package var kind: String
  package var maskedRecipient: String
  package var createdAt: Timestamp
  package var expiresAt: Timestamp?
  package var attempts: Int
  package var state: State

  package init(_ record: DeliveryRecord, at now: Timestamp) {
    (id, channel, kind, createdAt) = (record.id, record.channel, record.kind, record.createdAt)
    (maskedRecipient, attempts, expiresAt) = (record.maskedRecipient ?? "", record.attempts, record.expiresAt)
    if let buriedAt = record.buriedAt {
      let canResend = !record.sealed.isEmpty && now < record.expiresAt
      state = .givenUp(at: buriedAt, reason: record.buriedReason ?? "", canResend: canResend)
    } else {
      state = .waiting(nextAttemptAt: record.nextAttemptAt, error: record.lastError)
    }
  }

  package init(_ record: SentMessageRecord) {
    (id, channel, kind, createdAt) = (record.id, record.channel, record.kind, record.createdAt)
    (maskedRecipient, attempts) = (record.maskedRecipient, record.attempts)
    state = .sent(at: record.sentAt)
  }

  /// Whether the user did not receive it although an attempt failed or was due some time ago.
  func isStuck(at now: Timestamp) -> Bool {
    switch state {
    case .sent: false
    case .givenUp: true
    case .waiting(_, let error): error != nil || createdAt.adding(millis: AccountMessage.patienceMillis) <= now
    }
  }

  /// The time after which a message that was never attempted counts as stuck.
  private static let patienceMillis: Int64 = 120_000
}

extension SupportFacts {
  /// The account's messages, newest first.
  func messages(at now: Timestamp, most: Int) -> [AccountMessage] {
    let all = deliveries.map { AccountMessage($0, at: now) } + sentMessages.map { AccountMessage($0) }
    return Array(all.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }.prefix(most))
  }
}

/// The messages to the user of an account: what was sent when, what waits, and what was given up.
package struct ListMessages: Reading {
  /// Messages in one answer, the newest.
  package static let messagesMax = 100

  private let environment: Environment
  package let query: Query

  package init(_ environment: Environment, accountID: String) {
    self.environment = environment
    var support = SupportQuery()
    (support.accountID, support.messagesMax) = (accountID, ListMessages.messagesMax)
    var query = Query()
    (query.accountID, query.support) = (accountID, support)
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> [AccountMessage] {
    let messages = facts.support?.messages(at: environment.clock.now(), most: ListMessages.messagesMax) ?? []
    if messages.isEmpty, facts.account == nil { throw facts.noAccount() }
    return messages
  }
}

/// Sends a message again whose content is kept: one that waits for its next attempt, or was given up and has not
/// expired.
///
/// A message that was sent has no content any more, and a new code or link can only be requested by the service on
/// whose page it ends. The user, or CreateEmailLink, makes a new one.
package struct ResendMessage: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the message, which waits again.
  package func callAsFunction(_ id: String, _ call: CallFacts) async throws -> AccountMessage {
    var support = SupportQuery()
    support.deliveryID = id
    var query = Query()
    query.support = support
    let found = try await environment.first(query)
    let accountID = found.support?.delivery?.accountID ?? found.support?.sentMessages.first?.accountID ?? ""
    let throttle = environment.throttle(.sends, of: accountID, isVerified: true, call: call)
    throttle.look(into: &query)
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      let record: DeliveryRecord
      switch ResendDecision.decide(facts.support ?? SupportFacts(), at: now) {
      case .refuse(let failure): return .refuse(failure)
      case .send(let delivery): record = delivery
      }
      let counts = try throttle.admit(facts, now: now).count(at: now)
      let note = AuditNote(
        .messageResent, accountID: record.accountID ?? "", details: ["message_id": id, "kind": record.kind])
      var after = record
      (after.nextAttemptAt, after.buriedAt, after.buriedReason) = (now, nil, nil)
      if record.buriedAt != nil { after.attempts = 0 }
      let requeue = Write.delivery(.requeue(id: id, at: now, queueMax: environment.policy.deliveryQueueMax))
      return .commit(
        Change([requeue] + counts + [environment.audit(note, call: call, now: now)]), AccountMessage(after, at: now))
    }
  }
}

/// Whether a message can be sent again.
enum ResendDecision: Hashable, Sendable {
  case refuse(Failure)
  case send(DeliveryRecord)

  static func decide(_ facts: SupportFacts, at now: Timestamp) -> ResendDecision {
    guard let record = facts.delivery else {
      guard !facts.sentMessages.isEmpty else {
        return .refuse(Failure(.messageNotFound, field: "message_id", hint: "ListMessages shows the messages."))
      }
      return .refuse(gone("The message was sent, and its content is no longer kept."))
    }
    guard now < record.expiresAt else { return .refuse(gone("The message has expired.")) }
    guard !record.sealed.isEmpty else { return .refuse(gone("The content of the message is no longer kept.")) }
    return .send(record)
  }

  private static func gone(_ why: String) -> Failure {
    Failure(.messageContentGone, field: "message_id", hint: "\(why) Let the user request a new one.")
  }
}

/// The sessions of an account for an administrator, newest first.
package struct ListAccountSessions: Reading {
  package let query: Query

  /// - Parameter endedToo: include sessions that have ended. They are kept until the end of the day (UTC).
  package init(_ environment: Environment, accountID: String, endedToo: Bool) {
    var query = Query()
    query.accountID = accountID
    if endedToo {
      var support = SupportQuery()
      (support.accountID, support.sessionsMax) = (accountID, environment.policy.sessionsListedMax)
      query.support = support
    } else {
      query.openSessions = OpenSessionsQuery(
        accountID: accountID, at: environment.clock.now(), most: environment.policy.sessionsListedMax)
    }
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> [SessionRecord] {
    guard facts.account != nil else { throw facts.noAccount() }
    return facts.support?.sessions ?? facts.openSessions
  }
}
