import Sealed
package import Store

/// An email or text message to send. Its template has the text, and this type has the values.
package struct OutgoingMessage: Hashable, Sendable {
  /// The kind of a message, which names its template.
  package enum Kind: String, Sendable, CaseIterable {
    // Messages with a code or a link.
    case phoneCode = "phone_code"
    case secondFactorCode = "second_factor_code"
    case emailLink = "email_link"
    case signUp = "sign_up"
    case verifyEmail = "verify_email"
    case resetPassword = "reset_password"
    case changeEmail = "change_email"
    // The same with six digits, and possibly with a link too.
    case emailCode = "email_code"
    case signUpCode = "sign_up_code"
    case verifyEmailCode = "verify_email_code"
    case resetPasswordCode = "reset_password_code"
    case changeEmailCode = "change_email_code"
    case invitation
    // Answers to a request for an email address that belongs to an account.
    case signUpKnown = "sign_up_known"
    case signInMethods = "sign_in_methods"
    // Notices of an event, with no link except one that reverts it.
    case linked
    case unlinked
    case emailChanged = "email_changed"
    case passwordChanged = "password_changed"
    case factorEnrolled = "factor_enrolled"
    case factorWithdrawn = "factor_withdrawn"
    case addressDetached = "address_detached"
    case merged

    /// The values of its messages, which a template may use. A link is complete, and made from a URI that the caller
    /// may use.
    package var values: Set<String> {
      switch self {
      case .phoneCode, .secondFactorCode: ["code"]
      case .emailLink, .signUp, .verifyEmail, .resetPassword, .changeEmail, .invitation: ["link"]
      case .emailCode, .signUpCode, .verifyEmailCode, .resetPasswordCode, .changeEmailCode: ["code", "link"]
      case .linked, .unlinked: ["provider_id"]
      case .emailChanged: ["link", "new_email"]
      case .factorEnrolled, .factorWithdrawn: ["factor"]
      case .addressDetached: ["email"]
      case .signInMethods: ["methods", "provider_id"]
      case .signUpKnown, .passwordChanged, .merged: []
      }
    }

    /// The values that some of its messages lack.
    package var occasionalValues: Set<String> {
      switch self {
      case .emailChanged: values
      case .emailCode, .signUpCode, .verifyEmailCode, .resetPasswordCode, .changeEmailCode: ["link"]
      default: []
      }
    }
  }

  package enum Recipient: Hashable, Sendable {
    /// The normalised email address.
    case email(String)
    /// The phone number in E.164.
    case phoneNumber(String)
  }

  package var kind: Kind
  package var recipient: Recipient
  /// BCP 47; empty: the operator's default.
  package var locale: String
  /// Template values by name.
  package var values: [String: String]
  package var expiresAt: Timestamp

  package init(
    _ kind: Kind, to recipient: Recipient, locale: String = "", values: [String: String] = [:], expiresAt: Timestamp
  ) {
    self.kind = kind
    self.recipient = recipient
    self.locale = locale
    self.values = values
    self.expiresAt = expiresAt
  }

  package var channel: DeliveryChannel {
    switch recipient {
    case .email: .mail
    case .phoneNumber: .textMessage
    }
  }
}

extension Environment {
  /// Returns the write that queues the message, in the transaction of its event.
  /// - Parameter accountID: of the user who receives it. Empty: none.
  package func enqueue(_ message: OutgoingMessage, for accountID: String, now: Timestamp) -> Write {
    .delivery(.enqueue(record(of: message, for: accountID, now: now), queueMax: policy.deliveryQueueMax))
  }

  /// Queues a notice about the account, unless an equal one waits or the account has reached its limit.
  func enqueueNotice(_ message: OutgoingMessage, about accountID: String, now: Timestamp) -> Write {
    var record = record(of: message, for: accountID, now: now)
    record.priority = .notice
    record.mergeKey = cryptography.keyedDigest(message.identity(about: accountID), purpose: "notice")
    // Each kind has its own limit, so that many harmless changes do not suppress the notice of a dangerous one.
    let counts = (0..<cryptography.masterKeyCount).map { masterKey in
      ThrottleCount(
        key: throttleKey(.noticesPerAccount, [accountID, message.kind.rawValue], masterKey: masterKey),
        kind: .noticesPerAccount, rule: policy.throttles[.noticesPerAccount], at: now, refusesBlocked: false)
    }
    let limits = NoticeLimits(
      count: counts[0], otherCounts: Array(counts.dropFirst()), queueMax: policy.noticeQueueMax)
    return .delivery(.enqueueNotice(record, within: limits))
  }

  private func record(of message: OutgoingMessage, for accountID: String, now: Timestamp) -> DeliveryRecord {
    assert(message.kind.values.isSuperset(of: message.values.keys), "\(message.kind) has no \(message.values.keys)")
    let id = ids.delivery(at: now)
    let sealed = cryptography.seal(message.packed, context: OutgoingMessage.context(deliveryID: id))
    var record = DeliveryRecord(
      id: id, channel: message.channel, kind: message.kind.rawValue, sealed: sealed, createdAt: now,
      expiresAt: message.expiresAt)
    if !accountID.isEmpty { (record.accountID, record.maskedRecipient) = (accountID, message.recipient.masked) }
    return record
  }

  /// Returns the message of a record. nil: sealed with another key, or for another record.
  package func message(of record: DeliveryRecord) -> OutgoingMessage? {
    cryptography.open(record.sealed, context: OutgoingMessage.context(deliveryID: record.id))
      .flatMap { OutgoingMessage(packed: $0, expiresAt: record.expiresAt) }
  }

  /// Notifies a user of a change of the account (check 84), by email to its verified address and to `others`.
  ///
  /// Returns nothing if mail is not configured. An unverified address may belong to another user, so it gets no notice.
  package func notices(
    _ kind: OutgoingMessage.Kind, to state: AccountState, others: [String] = [], values: [String: String] = [:],
    now: Timestamp
  ) -> [Write] {
    guard policy.mailEnabled else { return [] }
    var addresses = others
    if state.account.emailVerified, let email = state.account.email, !addresses.contains(email) {
      addresses.append(email)
    }
    let expiresAt = now.adding(millis: policy.noticeLifetimeMillis)
    return addresses.map {
      enqueueNotice(
        OutgoingMessage(kind, to: .email($0), values: values, expiresAt: expiresAt), about: state.account.id, now: now)
    }
  }
}

extension OutgoingMessage.Recipient {
  /// The recipient for administrators: its user can recognise it, and no other user can learn it.
  var masked: String {
    switch self {
    case .email(let address):
      let at = address.utf8.lastIndex(of: UInt8(ascii: "@")) ?? address.endIndex
      return "\(address[..<at].prefix(1))***\(address[at...])"
    case .phoneNumber(let number): return OutgoingMessage.Recipient.masked(number)
    }
  }

  package static func masked(_ number: String) -> String {
    let shown = 4
    guard number.count > shown else { return String(repeating: "*", count: number.count) }
    return "+" + String(repeating: "*", count: number.count - shown - 1) + number.suffix(shown)
  }
}

extension Environment {
  /// Notifies the user of a link that a sign-in made, like the links of other calls (check 84).
  func notices(of note: AuditNote, to state: AccountState, now: Timestamp) -> [Write] {
    guard note.event == .linked, note.accountID == state.account.id else { return [] }
    return notices(.linked, to: state, values: note.details.filter { $0.key == "provider_id" }, now: now)
  }

  /// Notifies the user of an edit, also at the previously verified email address if the edit removed it.
  func notices(
    _ kind: OutgoingMessage.Kind, of edit: AccountEdit, values: [String: String], now: Timestamp
  ) -> [Write] {
    let before = edit.before.emailVerified ? edit.before.email : nil
    return notices(kind, to: edit.state, others: before.map { [$0] } ?? [], values: values, now: now)
  }

  /// Notifies the user of a removed sign-in method. A removed phone number gets a text message, because its user may
  /// have no email address.
  func notices(ofUnlinked providerID: String, by edit: AccountEdit, now: Timestamp) -> [Write] {
    let values = ["provider_id": providerID]
    let mails = notices(.unlinked, of: edit, values: values, now: now)
    guard let number = edit.before.phoneNumber, number != edit.edited.account.phoneNumber else { return mails }
    return mails + textNotices(.unlinked, to: number, about: edit.before.id, values: values, now: now)
  }

  /// Notifies a phone number. Returns nothing if text messages are not configured.
  func textNotices(
    _ kind: OutgoingMessage.Kind, to number: String, about accountID: String, values: [String: String], now: Timestamp
  ) -> [Write] {
    guard policy.textMessagesEnabled else { return [] }
    let expiresAt = now.adding(millis: policy.noticeLifetimeMillis)
    let message = OutgoingMessage(kind, to: .phoneNumber(number), values: values, expiresAt: expiresAt)
    return [enqueueNotice(message, about: accountID, now: now)]
  }
}

// MARK: sealed form

extension OutgoingMessage {
  static func context(deliveryID: String) -> [UInt8] { Array("delivery \(deliveryID)".utf8) }

  /// Returns the identity of a notice. Two notices about an account are equal if the recipient sees no difference.
  fileprivate func identity(about accountID: String) -> [UInt8] {
    var packer = Packer()
    packer.append(accountID)
    return packer.bytes + packed
  }

  var packed: [UInt8] {
    let recipient: Sealed.OutgoingMessage.Recipient =
      switch recipient {
      case .email(let email): .email(email)
      case .phoneNumber(let number): .phoneNumber(number)
      }
    return Sealed.OutgoingMessage(kind: kind.rawValue, recipient: recipient, locale: locale, values: values).packed
  }

  init?(packed: [UInt8], expiresAt: Timestamp) {
    guard let message = Sealed.OutgoingMessage(packed: packed), let kind = Kind(rawValue: message.kind) else {
      return nil
    }
    let recipient: Recipient
    switch message.recipient {
    case .email(let email): recipient = .email(email)
    case .phoneNumber(let number): recipient = .phoneNumber(number)
    case nil: return nil
    }
    self.init(kind, to: recipient, locale: message.locale, values: message.values, expiresAt: expiresAt)
  }
}
