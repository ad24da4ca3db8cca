package import Store

/// A mail or text message as the domain asks for it: its words are the template's, its values are told here.
package struct OutgoingMessage: Hashable, Sendable {
  /// Each names its template.
  package enum Kind: String, Sendable, CaseIterable {
    // With a code or a link.
    case phoneCode = "phone_code"
    case secondFactorCode = "second_factor_code"
    case emailLink = "email_link"
    case signUp = "sign_up"
    case verifyEmail = "verify_email"
    case resetPassword = "reset_password"
    case changeEmail = "change_email"
    // Answers to what somebody asked in the name of an address that is an account's.
    case signUpKnown = "sign_up_known"
    case signInMethods = "sign_in_methods"
    // Notices: what happened, and nothing to click but a way back.
    case linked
    case unlinked
    case emailChanged = "email_changed"
    case passwordChanged = "password_changed"
    case factorEnrolled = "factor_enrolled"
    case factorWithdrawn = "factor_withdrawn"
    case addressDetached = "address_detached"
    case merged

    /// The values that its messages may have, which is what a template may name. A link is whole, made from a URI that
    /// the caller may use.
    package var values: Set<String> {
      switch self {
      case .phoneCode, .secondFactorCode: ["code"]
      case .emailLink, .signUp, .verifyEmail, .resetPassword, .changeEmail: ["link"]
      case .linked, .unlinked: ["provider_id"]
      case .emailChanged: ["link", "new_email"]
      case .factorEnrolled, .factorWithdrawn: ["factor"]
      case .addressDetached: ["email"]
      case .signInMethods: ["methods", "provider_id"]
      case .signUpKnown, .passwordChanged, .merged: []
      }
    }

    /// Those of them that some of its messages lack.
    package var occasionalValues: Set<String> { self == .emailChanged ? values : [] }
  }

  package enum Recipient: Hashable, Sendable {
    /// Normalised.
    case email(String)
    /// E.164.
    case phoneNumber(String)
  }

  package var kind: Kind
  package var recipient: Recipient
  /// BCP 47; empty: the operator's default.
  package var locale: String
  /// What the template fills in, by name.
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
  /// Puts the message into the queue, in the transaction of what it tells of.
  package func enqueue(_ message: OutgoingMessage, now: Timestamp) -> Write {
    .enqueueDelivery(record(of: message, now: now), queueMax: policy.deliveryQueueMax)
  }

  /// Queues a notice about the account, unless an equal one waits or the account has reached its limit.
  func enqueueNotice(_ message: OutgoingMessage, about accountID: String, now: Timestamp) -> Write {
    var record = record(of: message, now: now)
    record.priority = .notice
    record.mergeKey = cryptography.keyedDigest(message.identity(about: accountID), purpose: "notice")
    // Each kind has its own limit, so that many harmless changes do not suppress the notice of a dangerous one.
    let count = ThrottleCount(
      key: throttleKey(.noticesPerAccount, [accountID, message.kind.rawValue]), kind: .noticesPerAccount,
      rule: policy.throttles[.noticesPerAccount], at: now, refusesBlocked: false)
    return .enqueueNotice(record, within: NoticeLimits(count: count, queueMax: policy.noticeQueueMax))
  }

  private func record(of message: OutgoingMessage, now: Timestamp) -> DeliveryRecord {
    assert(message.kind.values.isSuperset(of: message.values.keys), "\(message.kind) has no \(message.values.keys)")
    let id = ids.delivery(at: now)
    let sealed = cryptography.seal(message.packed, context: OutgoingMessage.context(deliveryID: id))
    return DeliveryRecord(
      id: id, channel: message.channel, kind: message.kind.rawValue, sealed: sealed, createdAt: now,
      expiresAt: message.expiresAt)
  }

  /// What a record holds, or nil where it was not sealed here, or for another record.
  package func message(of record: DeliveryRecord) -> OutgoingMessage? {
    cryptography.open(record.sealed, context: OutgoingMessage.context(deliveryID: record.id))
      .flatMap { OutgoingMessage(packed: $0, expiresAt: record.expiresAt) }
  }

  /// Tells the person behind an account of a change (check 84), by mail to its proved address and to `others`; nothing
  /// where no mail is configured. An address that nobody proved may be a stranger's, who is not to be told of it.
  package func notices(
    _ kind: OutgoingMessage.Kind, to state: AccountState, others: [String] = [], values: [String: String] = [:],
    now: Timestamp
  ) -> [Write] {
    guard policy.mailEnabled else { return [] }
    var addresses = others
    if state.account.emailProved, let email = state.account.email, !addresses.contains(email) {
      addresses.append(email)
    }
    let expiresAt = now.adding(millis: policy.noticeLifetimeMillis)
    return addresses.map {
      enqueueNotice(
        OutgoingMessage(kind, to: .email($0), values: values, expiresAt: expiresAt), about: state.account.id, now: now)
    }
  }
}

extension Environment {
  /// Of what a sign-in did to the account that it opened: a link is told of by whichever call it came (check 84).
  func notices(of note: AuditNote, to state: AccountState, now: Timestamp) -> [Write] {
    guard note.event == .linked, note.accountID == state.account.id else { return [] }
    return notices(.linked, to: state, values: note.details.filter { $0.key == "provider_id" }, now: now)
  }

  /// To the address that was proved before the edit as well, where the edit took it away.
  func notices(
    _ kind: OutgoingMessage.Kind, of edit: AccountEdit, values: [String: String], now: Timestamp
  ) -> [Write] {
    let before = edit.before.emailProved ? edit.before.email : nil
    return notices(kind, to: edit.state, others: before.map { [$0] } ?? [], values: values, now: now)
  }

  /// Of a way in that went. A number hears itself that it went: its person may have no address.
  func notices(ofUnlinked providerID: String, by edit: AccountEdit, now: Timestamp) -> [Write] {
    let values = ["provider_id": providerID]
    let mails = notices(.unlinked, of: edit, values: values, now: now)
    guard let number = edit.before.phoneNumber, number != edit.edited.account.phoneNumber else { return mails }
    return mails + textNotices(.unlinked, to: number, about: edit.before.id, values: values, now: now)
  }

  /// Nothing where no text messages are configured.
  func textNotices(
    _ kind: OutgoingMessage.Kind, to number: String, about accountID: String, values: [String: String], now: Timestamp
  ) -> [Write] {
    guard policy.textMessagesEnabled else { return [] }
    let expiresAt = now.adding(millis: policy.noticeLifetimeMillis)
    let message = OutgoingMessage(kind, to: .phoneNumber(number), values: values, expiresAt: expiresAt)
    return [enqueueNotice(message, about: accountID, now: now)]
  }
}

// MARK: the bytes under the seal

extension OutgoingMessage {
  private static let format: UInt8 = 1

  fileprivate static func context(deliveryID: String) -> [UInt8] { Array("delivery \(deliveryID)".utf8) }

  /// What makes two notices about an account equal: everything that the recipient can see of them.
  fileprivate func identity(about accountID: String) -> [UInt8] {
    var packer = Packer()
    packer.append(accountID)
    return packer.bytes + packed
  }

  var packed: [UInt8] {
    var packer = Packer()
    packer.append(OutgoingMessage.format)
    packer.append(kind.rawValue)
    switch recipient {
    case .email(let email): packer.append(email)
    case .phoneNumber(let number): packer.append(number)
    }
    packer.append(UInt8(channel == .mail ? 0 : 1))
    packer.append(locale)
    packer.append(Int64(values.count))
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      packer.append(name)
      packer.append(value)
    }
    return packer.bytes
  }

  init?(packed: [UInt8], expiresAt: Timestamp) {
    var unpacker = Unpacker(packed)
    guard unpacker.byte() == OutgoingMessage.format, let kind = unpacker.text().flatMap(Kind.init(rawValue:)),
      let address = unpacker.text(), let isNumber = unpacker.flag(), let locale = unpacker.text(),
      let count = unpacker.number(), 0...64 ~= count
    else { return nil }
    var values: [String: String] = [:]
    for _ in 0..<count {
      guard let name = unpacker.text(), let value = unpacker.text() else { return nil }
      values[name] = value
    }
    guard unpacker.isAtEnd else { return nil }
    self.init(
      kind, to: isNumber ? .phoneNumber(address) : .email(address), locale: locale, values: values,
      expiresAt: expiresAt)
  }
}
